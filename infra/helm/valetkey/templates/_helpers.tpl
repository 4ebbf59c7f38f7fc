{{- /* The name of everything in this release; cut so that the longest suffix still fits into a DNS label. */ -}}
{{- define "valetkey.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- $name | trunc 32 | trimSuffix "-" -}}
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

{{- define "valetkey.image" -}}
image: {{ printf "%s:%s" .image.repository (.image.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ .image.pullPolicy }}
{{- end -}}

{{- /* What every pod of this chart is and is not allowed. The user is the image's own, 1000. */ -}}
{{- define "valetkey.podConfinement" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "valetkey.containerConfinement" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- /* Liveness asks nothing of Postgres or Redis: a restart would not bring them back. */ -}}
{{- define "valetkey.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: operator }
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: { path: /livez, port: operator }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: operator }
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{- /* New connections end before the process does: the endpoint has left every balancer when SIGTERM comes. */ -}}
{{- define "valetkey.drain" -}}
{{- if gt (int .Values.drainSeconds) 0 -}}
lifecycle:
  preStop:
    exec:
      command: [sleep, {{ .Values.drainSeconds | quote }}]
{{- end }}
{{- end -}}

{{- /* The services give open requests 15 seconds after SIGTERM. */ -}}
{{- define "valetkey.terminationGracePeriodSeconds" -}}
{{ add .Values.drainSeconds 20 }}
{{- end -}}

{{- /* The services' Secret as files under /run/valetkey. */ -}}
{{- define "valetkey.secretVolume" -}}
- name: secrets
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
{{- end -}}
{{- define "valetkey.secretMount" -}}
- { name: secrets, mountPath: /run/valetkey, readOnly: true }
{{- end -}}

{{- /* A job before install and upgrade: gone when it went well, kept to be looked at when it did not. */ -}}
{{- define "valetkey.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- /* An Ingress for one public listener, at the host and path of its public URL. */ -}}
{{- define "valetkey.ingress" -}}
{{- $url := urlParse .url -}}
{{- $name := printf "%s-%s" (include "valetkey.name" .root) .component -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $name }}
  labels:
    {{- include "valetkey.labels" . | nindent 4 }}
  {{- with .ingress.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .ingress.tlsSecretName }}
  tls:
    - hosts: [{{ $url.hostname | quote }}]
      secretName: {{ . }}
  {{- end }}
  rules:
    - host: {{ $url.hostname | quote }}
      http:
        paths:
          {{- range .paths }}
          - path: {{ . }}
            pathType: Prefix
            backend:
              service:
                name: {{ $name }}
                port: { name: public }
          {{- end }}
{{- end -}}
