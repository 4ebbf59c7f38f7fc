{{- /*
A process uses one core for requests, so the target is a part of a core and not of whatever the pod requests.
*/ -}}
{{- define "valetkey.autoscaler" -}}
{{- $name := printf "%s-%s" (include "valetkey.name" .root) .component -}}
{{- with .values.autoscaling -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels:
    {{- include "valetkey.labels" $ | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }} }
  minReplicas: {{ .minReplicas }}
  maxReplicas: {{ .maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: AverageValue, averageValue: {{ .targetCPU | quote }} }
{{- end }}
{{- end -}}

{{- /*
Nodes are emptied one pod at a time. Pods that are not ready do not hold that up: while a database is away none is ready.
*/ -}}
{{- define "valetkey.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "valetkey.name" .root }}-{{ .component }}
  labels:
    {{- include "valetkey.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .values.disruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "valetkey.selector" . | nindent 6 }}
{{- end -}}

{{- define "valetkey.serviceMonitor" -}}
{{- $monitoring := .root.Values.serviceMonitors -}}
{{- if and .root.Values.networkPolicy.enabled (not .root.Values.networkPolicy.operatorFrom) -}}
{{- fail "serviceMonitors.enabled: nobody may reach the metrics; name the monitoring in networkPolicy.operatorFrom" -}}
{{- end -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "valetkey.name" .root }}-{{ .component }}
  labels:
    {{- include "valetkey.labels" . | nindent 4 }}
    {{- with $monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
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
{{- end -}}
