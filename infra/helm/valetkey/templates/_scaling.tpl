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
{{- $scaling := .values.autoscaling -}}
{{- if $scaling.targetCPU -}}
{{- include "valetkey.reachableTarget" . -}}
{{- else if not $scaling.metrics -}}
{{- fail (printf "%s: autoscaling needs targetCPU or metrics" .component) -}}
{{- end -}}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) -}}
{{- fail (printf "%s: autoscaling.minReplicas (%v) is more than autoscaling.maxReplicas (%v)" .component $scaling.minReplicas $scaling.maxReplicas) -}}
{{- end -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
{{ include "valetkey.metadata" (dict "root" .root "component" .component) }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "valetkey.name" .root }}-{{ .component }} }
  minReplicas: {{ $scaling.minReplicas }}
  maxReplicas: {{ $scaling.maxReplicas }}
  {{- with $scaling.behavior }}
  behavior:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  metrics:
    {{- /* Of our container, so that extra containers do not count. */}}
    {{- with $scaling.targetCPU }}
    - type: ContainerResource
      containerResource:
        name: cpu
        container: {{ $.component }}
        target: { type: AverageValue, averageValue: {{ . | quote }} }
    {{- end }}
    {{- with $scaling.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- /*
Nodes are emptied one pod at a time. Pods that are not ready do not block this: without a database, none is ready.
*/ -}}
{{- define "valetkey.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
{{ include "valetkey.metadata" (dict "root" .root "component" .component) }}
spec:
  maxUnavailable: {{ .values.disruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "valetkey.selector" . | nindent 6 }}
{{- end -}}
