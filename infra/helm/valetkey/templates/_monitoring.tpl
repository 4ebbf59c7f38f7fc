{{- define "valetkey.serviceMonitor" -}}
{{- $monitoring := .root.Values.serviceMonitors -}}
{{- $name := include "valetkey.name" .root -}}
{{- if and .root.Values.networkPolicy.enabled (not .root.Values.networkPolicy.operatorFrom) -}}
{{- fail "serviceMonitors.enabled: no pod may reach the metrics; add the monitoring to networkPolicy.operatorFrom" -}}
{{- end -}}
{{- $relabelings := $monitoring.relabelings -}}
{{- /* The alerts find the jobs by this word. */ -}}
{{- if not (contains "valetkey" $name) -}}
{{- $relabelings = prepend $relabelings (dict "targetLabel" "job" "replacement" (printf "valetkey-%s-%s" $name .component)) -}}
{{- end -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
{{ include "valetkey.metadata" (dict "root" .root "component" .component "labels" $monitoring.labels) }}
spec:
  namespaceSelector:
    matchNames: [{{ .root.Release.Namespace }}]
  selector:
    matchLabels:
      {{- include "valetkey.selector" . | nindent 6 }}
  # Of the services with these labels only the operators' has such a port.
  endpoints:
    - port: operator
      path: /metrics
      interval: {{ $monitoring.interval }}
      {{- with $relabelings }}
      relabelings:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $monitoring.metricRelabelings }}
      metricRelabelings:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}

{{- /* The groups of alerts.yaml, without alerts about a service that is not of this release and those left out. */ -}}
{{- define "valetkey.alertGroups" -}}
{{- $without := .Values.prometheusRule.without -}}
{{- $foreign := list -}}
{{- if not .Values.authorizationServer.enabled -}}
{{- $without = append $without "ValetkeyAuthorizationServerMissing" -}}
{{- $foreign = append $foreign "valetkey-authorization-server" -}}
{{- end -}}
{{- if not .Values.resourceServer.enabled -}}
{{- $without = append $without "ValetkeyResourceServerMissing" -}}
{{- $foreign = append $foreign "valetkey-resource-server" -}}
{{- end -}}
{{- $groups := list -}}
{{- range (.Files.Get "alerts.yaml" | fromYaml).groups -}}
{{- $rules := list -}}
{{- range .rules }}{{ if not (has .alert $without) }}{{ $rules = append $rules . }}{{ end }}{{ end -}}
{{- if and $rules (not (has .name $foreign)) }}{{ $groups = append $groups (dict "name" .name "rules" $rules) }}{{ end -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end -}}
