{{- /* The name of everything in this release; cut so that the longest suffix still fits into a DNS label. */ -}}
{{- define "valetkey.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- .Values.fullnameOverride | default $name | trunc 32 | trimSuffix "-" -}}
{{- end -}}

{{- /* What a selector names: never anything that changes from one release to the next. */ -}}
{{- define "valetkey.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "valetkey.labels" -}}
{{ include "valetkey.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* Name, labels and annotations of a document; `suffix` is the end of its name, the component if there is none. */ -}}
{{- define "valetkey.metadata" -}}
metadata:
  name: {{ include "valetkey.name" .root }}-{{ .suffix | default .component }}
  labels:
    {{- include "valetkey.labels" . | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "valetkey.image" -}}
{{- $digest := .image.digest | default "" -}}
{{- $reference := ternary (print "@" $digest) (print ":" (.image.tag | default .root.Chart.AppVersion)) (ne $digest "") -}}
image: {{ print .image.repository $reference | quote }}
imagePullPolicy: {{ .image.pullPolicy }}
{{- end -}}

{{- /* The service refuses to start without it: better before anything is replaced. */}}
{{- define "valetkey.requireProxies" -}}
{{- $isSet := or (hasKey .server.config "TRUSTED_PROXIES") (hasKey .server.secretKeys "TRUSTED_PROXIES") -}}
{{- if and (hasPrefix "https://" .url) (not $isSet) -}}
{{- fail (printf "%s.config.TRUSTED_PROXIES: is required with an https address; set it to the addresses or networks of the Ingress controller's pods, or to none if no proxy is in front" .service) -}}
{{- end -}}
{{- end -}}
