{{- /* The deployment of a service. Its settings are read at start, so changed ones need new pods. */ -}}
{{- define "valetkey.deployment" -}}
{{- $values := .values -}}
{{- $checksums := dict "checksum/settings" (include (printf "%s/%s/settings.yaml" .root.Template.BasePath .component) .root | sha256sum) -}}
{{- if .root.Values.restartOnChangedSecrets -}}
{{- with include "valetkey.fileVersions" . | trim }}{{ $_ := set $checksums "checksum/files" (sha256sum .) }}{{ end -}}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
{{ include "valetkey.metadata" (dict "root" .root "component" .component "annotations" $values.deploymentAnnotations) }}
spec:
  {{- if not $values.autoscaling.enabled }}
  replicas: {{ $values.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "valetkey.selector" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  {{- $_ := set . "server" $values }}
  {{- $_ := set . "affinity" $values.affinity }}
  {{- $_ := set . "annotations" $checksums }}
  {{- $_ := set . "spec" (include "valetkey.deploymentSpec" .) }}
  {{- $_ := set . "name" .component }}
  {{- $_ := set . "container" (include "valetkey.serverContainer" .) }}
  {{- $_ := set . "resources" $values.resources }}
  template:
    {{- include "valetkey.podTemplate" . | nindent 4 }}
{{- end -}}

{{- /* The services stop within 15 seconds of SIGTERM, or of DRAIN_DELAY after it, which the schema allows in config only. */ -}}
{{- define "valetkey.deploymentSpec" -}}
terminationGracePeriodSeconds: {{ add .root.Values.drainSeconds (get .values.config "DRAIN_DELAY" | default "0" | int) 20 }}
{{- include "valetkey.spread" . }}
{{- end -}}

{{- /* Spread by revision, so that the pods being replaced do not delay a rollout. */ -}}
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

{{- /*
Liveness asks nothing of Postgres or Redis: a restart would not bring them back. With preStop, new connections end before the
process does: the endpoint has left every balancer when SIGTERM comes.
*/ -}}
{{- define "valetkey.serverContainer" -}}
envFrom:
  - configMapRef: { name: {{ include "valetkey.name" .root }}-{{ .component }} }
ports:
  {{- range $name, $port := .ports }}
  - { name: {{ $name }}, containerPort: {{ $port }} }
  {{- end }}
{{- range $probe, $path := dict "startup" "/livez" "liveness" "/livez" "readiness" "/readyz" }}
{{ $probe }}Probe:
  httpGet: { path: {{ $path }}, port: operator }
  {{- toYaml (get $.values.probes $probe) | nindent 2 }}
{{- end }}
{{- with .root.Values.drainSeconds }}
lifecycle:
  preStop:
    exec:
      command: [sleep, {{ . | quote }}]
{{- end }}
{{- end -}}
