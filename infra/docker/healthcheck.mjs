// The image has no curl: asks the operator listener on this machine whether the server is ready.
// Its one argument is the listener's address, host:port or :port.
const [, name = '', port = ''] = /^(.*):(\d+)$/.exec(process.argv[2] ?? '') ?? []
const host = name === '' || name === '0.0.0.0' ? '127.0.0.1' : name

try {
  const answer = await fetch(`http://${host}:${port}/readyz`, { signal: AbortSignal.timeout(4_000) })
  process.exitCode = answer.ok ? 0 : 1
} catch {
  process.exitCode = 1
}
