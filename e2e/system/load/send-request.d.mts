export type Answer = {
  status: number
  headers: Record<string, string | undefined>
  body: string
  milliseconds: number
}

export function sendRequest(
  port: number,
  method: string,
  path: string,
  options?: {
    by?: Record<string, string>
    form?: Record<string, string>
    json?: object
    headers?: Record<string, string>
  }
): Promise<Answer>
