// Runs a program to its end with a time limit, and returns its output.
import { spawn } from 'node:child_process'

const running = new Set()

/**
 * @param {{ input?: string, seconds?: number, mayFail?: boolean, environment?: Record<string, string> }} [options]
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
export function run([command, ...args], { input = '', seconds = 60, mayFail = false, environment = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: { ...process.env, ...environment } })
    running.add(child)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    // A program may end without reading its input; then its exit code decides.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const limit = setTimeout(() => child.kill('SIGKILL'), seconds * 1_000)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(limit)
      running.delete(child)
      if (code === 0 || mayFail) resolve({ code, stdout, stderr })
      else reject(new Error(`${[command, ...args].join(' ')} ended with ${code}\n${tail(stdout)}${tail(stderr)}`))
    })
  })
}

export function killRunning() {
  for (const child of running) child.kill('SIGKILL')
}

/** The last lines of the output, which usually contain the error. */
const tail = (text, lines = 40) => text.split('\n').slice(-lines).join('\n')
