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

{{- /* The services stop within 15 seconds of SIGTERM, or of DRAIN_DELAY after it. */ -}}
{{- define "valetkey.terminationGracePeriodSeconds" -}}
{{ add .root.Values.drainSeconds (get .values.config "DRAIN_DELAY" | default "0" | int) 20 }}
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

{{- /* Over what they are spread: by revision, so that a rollout is not held up by the pods it replaces. */ -}}
{{- define "valetkey.spread" -}}
{{- if without (values (default dict .values.topologySpread)) "" }}
topologySpreadConstraints:
  {{- range $topologyKey, $whenUnsatisfiable := .values.topologySpread }}
  {{- if $whenUnsatisfiable }}
  - maxSkew: 1
    topologyKey: {{ $topologyKey }}
    whenUnsatisfiable: {{ $whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "valetkey.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* A job before install and upgrade: gone when it went well, kept to be looked at when it did not. */ -}}
{{- define "valetkey.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
