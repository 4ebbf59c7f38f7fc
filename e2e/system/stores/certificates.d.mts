export function hasOpenssl(): boolean
export function makeCertificates(
  directory: string,
  options?: {
    /** Of the authority. */
    commonName?: string
    /** In the server's certificate, as `subjectAltName` of openssl. Default: 127.0.0.1 and localhost. */
    names?: string
  }
): { ca: string; certificate: string; key: string }
