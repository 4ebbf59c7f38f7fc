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
