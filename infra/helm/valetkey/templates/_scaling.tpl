{{- /* A quantity of processor time, such as 600m, 0.6 or 1, as a number of thousandths of a core. */ -}}
{{- define "valetkey.millicores" -}}
{{- $quantity := toString . -}}
{{- if hasSuffix "m" $quantity }}{{ trimSuffix "m" $quantity | int }}{{ else }}{{ mulf (float64 $quantity) 1000 | int }}{{ end -}}
{{- end -}}

{{- /*
The event loop of a process uses one core, so the target is a part of a core, and not of the pod's request. The pod must
be able to get there: on a full node it gets no more than it requests, and it never gets more than its limit.
*/ -}}
{{- define "valetkey.reachableTarget" -}}
{{- $target := include "valetkey.millicores" .values.autoscaling.targetCPU | int -}}
{{- $requested := dig "requests" "cpu" "0" .values.resources | default "0" -}}
{{- $limit := dig "limits" "cpu" "" .values.resources | default "" -}}
{{- if lt (include "valetkey.millicores" $requested | int) $target -}}
{{- fail (printf "%s: resources.requests.cpu (%v) is less than autoscaling.targetCPU (%s)" .component $requested .values.autoscaling.targetCPU) -}}
{{- end -}}
{{- if and $limit (le (include "valetkey.millicores" $limit | int) $target) -}}
{{- fail (printf "%s: resources.limits.cpu (%v) is not more than autoscaling.targetCPU (%s)" .component $limit .values.autoscaling.targetCPU) -}}
{{- end -}}
{{- end -}}

{{- define "valetkey.autoscaler" -}}
{{- include "valetkey.reachableTarget" . -}}
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
{{- fail "serviceMonitors.enabled: no pod may reach the metrics; add the monitoring to networkPolicy.operatorFrom" -}}
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
