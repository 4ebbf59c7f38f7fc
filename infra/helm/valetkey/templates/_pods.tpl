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

{{- /* Containers of the operator. One without a securityContext is confined like ours. */ -}}
{{- define "valetkey.extraContainers" -}}
{{- $confinement := include "valetkey.containerConfinement" . | fromYaml -}}
{{- $containers := list -}}
{{- range . -}}
{{- $containers = append $containers (hasKey . "securityContext" | ternary . (merge (deepCopy .) $confinement)) -}}
{{- end -}}
{{- toYaml $containers -}}
{{- end -}}

{{- /* Which nodes a service's pods may go to, and those of the jobs that run its program. */ -}}
{{- define "valetkey.placement" -}}
{{- with .serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /*
The template of any pod of this chart.
  server        the service whose image it runs, and to whose nodes it goes
  values        labels, annotations, and what the operator adds to the pod
  annotations   the chart's own; they win
  spec          further lines of the pod's spec
  name, container, env, resources    its container; `container` are further lines
  files         volumes of valetkey.filesVolume, each with its mountPath
*/ -}}
{{- define "valetkey.podTemplate" -}}
metadata:
  labels:
    {{- include "valetkey.labels" . | nindent 4 }}
    {{- with .values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with merge (dict) (default dict .annotations) .values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "valetkey.podConfinement" .root | nindent 2 }}
  {{- include "valetkey.placement" .server | nindent 2 }}
  {{- with .affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- .spec | nindent 2 }}
  {{- with .values.extraInitContainers }}
  initContainers:
    {{- include "valetkey.extraContainers" . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .name }}
      {{- include "valetkey.image" (dict "root" .root "image" .server.image) | nindent 6 }}
      {{- .container | nindent 6 }}
      {{- with concat (default list .env) .values.extraEnv }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "valetkey.containerConfinement" .root | nindent 6 }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      {{- if or .files .values.extraVolumeMounts }}
      volumeMounts:
        {{- range .files }}
        - { name: {{ .name }}, mountPath: {{ .mountPath }}, readOnly: true }
        {{- end }}
        {{- with .values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    {{- with .values.extraContainers }}
    {{- include "valetkey.extraContainers" . | nindent 4 }}
    {{- end }}
  {{- if or .files .values.extraVolumes }}
  volumes:
    {{- range .files }}
    {{- include "valetkey.filesVolume" . | nindent 4 }}
    {{- end }}
    {{- with .values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end -}}
