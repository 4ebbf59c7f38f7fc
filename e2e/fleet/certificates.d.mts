export function hasOpenssl(): boolean
export function makeCertificates(
  directory: string,
  commonName?: string
): { ca: string; certificate: string; key: string }
