{{- /* The paths of a public URL. Its metadata lies before its own path (RFC 8414 section 3.1, RFC 9728 section 3.1). */ -}}
{{- define "valetkey.publicPaths" -}}
{{- $path := trimSuffix "/" (urlParse .url).path -}}
{{- $paths := list ($path | default "/") -}}
{{- if $path }}{{ $paths = append $paths (printf "/.well-known/%s%s" .metadata $path) }}{{ end -}}
{{- toJson $paths -}}
{{- end -}}

{{- /* An Ingress for one public listener, at the host and path of its public URL. */ -}}
{{- define "valetkey.ingress" -}}
{{- $host := (urlParse .url).hostname -}}
{{- $ingress := .values.ingress -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
{{ include "valetkey.metadata" (dict "root" .root "component" .component "annotations" $ingress.annotations) }}
spec:
  {{- with $ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $ingress.tlsSecretName }}
  tls:
    - hosts: [{{ $host | quote }}]
      secretName: {{ . }}
  {{- end }}
  rules:
    - host: {{ $host | quote }}
      http:
        paths:
          {{- range include "valetkey.publicPaths" . | fromJsonArray }}
          - path: {{ . }}
            pathType: Prefix
            backend:
              service:
                name: {{ include "valetkey.name" $.root }}-{{ $.component }}
                port: { name: public }
          {{- end }}
{{- end -}}

{{- /* The same for a Gateway, whose listener ends TLS. */ -}}
{{- define "valetkey.httpRoute" -}}
{{- $route := .values.httpRoute -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
{{ include "valetkey.metadata" (dict "root" .root "component" .component "annotations" $route.annotations) }}
spec:
  parentRefs:
    {{- toYaml $route.parentRefs | nindent 4 }}
  hostnames: [{{ (urlParse .url).hostname | quote }}]
  rules:
    - matches:
        {{- range include "valetkey.publicPaths" . | fromJsonArray }}
        - path: { type: PathPrefix, value: {{ . }} }
        {{- end }}
      backendRefs:
        - { name: {{ include "valetkey.name" .root }}-{{ .component }}, port: 80 }
{{- end -}}
