import path from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { files, read } from './support/documents.js'

type Step = { uses?: string; run?: string; with?: Record<string, unknown> }
type Job = {
  steps: Step[]
  permissions?: Record<string, string>
  environment?: string
  'timeout-minutes'?: number
}
type Workflow = { on: Record<string, unknown>; permissions?: Record<string, string>; jobs: Record<string, Job> }

const workflows = files.filter((file) => file.startsWith('.github/workflows/'))

/** Every permission to write, with what needs it. A job has no other. */
const MAY_WRITE: Record<string, Record<string, string[]>> = {
  'release.yml': {
    // Pushes an image without a tag.
    images: ['packages'],
    // Sign and attest what they push.
    index: ['attestations', 'id-token', 'packages'],
    chart: ['attestations', 'id-token', 'packages'],
    // Trusted publishing.
    npm: ['id-token'],
    // Attests the files of the release, and makes a draft.
    draft: ['attestations', 'contents', 'id-token']
  },
  // Upload findings.
  'security.yml': { codeql: ['security-events'], scorecard: ['security-events'] }
}

test('there are workflows for changes, releases, nights and security', () => {
  expect(workflows.map((file) => path.basename(file)).sort()).toEqual([
    'ci.yml',
    'nightly.yml',
    'release.yml',
    'security.yml'
  ])
})

describe.each(workflows)('%s', (file) => {
  const text = read(file)
  const workflow = parse(text) as Workflow
  const jobs = Object.entries(workflow.jobs)
  const steps = jobs.flatMap(([, job]) => job.steps)
  const uses = steps.flatMap((step) => (step.uses === undefined ? [] : [step.uses]))

  test('every action is a commit of 40 digits, with its version as a comment', () => {
    expect(uses.filter((action) => !/^[\w.-]+(?:\/[\w.-]+)+@[0-9a-f]{40}$/.test(action))).toEqual([])
    const lines = text.split('\n').filter((line) => /^\s*(?:- )?uses:/.test(line))
    expect(lines).toHaveLength(uses.length)
    expect(lines.filter((line) => !/@[0-9a-f]{40} # v\d+(?:\.\d+)*$/.test(line))).toEqual([])
  })

  test('the workflow has no permission, and each job only what it needs', () => {
    expect(workflow.permissions).toEqual({})
    const written = jobs.map(([name, job]) => [name, scopesWith(job, 'write')])
    const expected = MAY_WRITE[path.basename(file)] ?? {}
    expect(Object.fromEntries(written)).toEqual({
      ...Object.fromEntries(jobs.map(([name]) => [name, []])),
      ...expected
    })
    for (const [, job] of jobs) {
      const uses = (action: string) => job.steps.some((step) => step.uses?.startsWith(`${action}@`))
      const reads = [
        ...(uses('actions/checkout') ? ['contents'] : []),
        // Logs in at the registry, and cannot write there.
        ...(uses('docker/login-action') && !scopesWith(job, 'write').includes('packages') ? ['packages'] : [])
      ]
      expect(scopesWith(job, 'read')).toEqual(reads)
      expect(scopesWith(job, 'read').length + scopesWith(job, 'write').length).toBe(
        Object.keys(job.permissions ?? {}).length
      )
    }
  })

  test('a job that can publish needs the approval of the environment', () => {
    const publishing = jobs.filter(([, job]) => {
      return scopesWith(job, 'write').some((scope) => ['contents', 'id-token', 'packages'].includes(scope))
    })
    expect(publishing.filter(([, job]) => job.environment !== 'release').map(([name]) => name)).toEqual([])
  })

  test('a checkout keeps no credentials, and jobs have a time limit', () => {
    const checkouts = steps.filter((step) => step.uses?.startsWith('actions/checkout@'))
    expect(checkouts.filter((step) => step.with?.['persist-credentials'] !== false)).toEqual([])
    expect(jobs.filter(([, job]) => job['timeout-minutes'] === undefined).map(([name]) => name)).toEqual([])
  })

  test('changes of outside contributors run without secrets, and no expression is part of a shell command', () => {
    expect(Object.keys(workflow.on)).not.toContain('pull_request_target')
    expect(Object.keys(workflow.on)).not.toContain('workflow_run')
    expect(steps.filter(({ run = '' }) => run.includes('${{')).map(({ run }) => run)).toEqual([])
  })
})

test('update bot: all ecosystems of this repository, with days of waiting', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as {
    updates: { 'package-ecosystem': string; cooldown: { 'default-days': number } }[]
  }
  const names = updates.map((update) => update['package-ecosystem'])
  expect(names.sort()).toEqual(['docker', 'docker-compose', 'github-actions', 'npm'])
  expect(updates.every(({ cooldown }) => cooldown['default-days'] >= 7)).toBe(true)
})

function scopesWith(job: Job, access: string): string[] {
  const permissions = Object.entries(job.permissions ?? {})
  return permissions
    .filter(([, granted]) => granted === access)
    .map(([scope]) => scope)
    .sort()
}
