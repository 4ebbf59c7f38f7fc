// Restores a backup of the running stack into an empty one, and checks what is restored and what is not.
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { FILES, USER } from './main-job.mjs'

export async function backUp(report, stack, { app }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'valetkey-backup-'))
  const before = await report.check(
    'backup.sh backs up while everything runs, readable only by the user who ran it',
    async () => {
      const { answer, codeVerifier } = await app.authorize(USER, 'allow')
      const { body: tokens } = await app.exchange(answer.code, codeVerifier)
      await stack.script('backup.sh', [folder])
      const names = ['SHA256SUMS', 'secrets.tar', 'valetkey_authorization.dump', 'valetkey_files.dump']
      assert.deepEqual((await readdir(folder)).sort(), names)
      for (const name of names) {
        const { mode, size } = await stat(path.join(folder, name))
        assert.equal(mode & 0o077, 0, name)
        assert.ok(size > 0, name)
      }
      return tokens
    }
  )
  await report.check('backup.sh does not write over another backup', async () => {
    const { code, stderr } = await stack.script('backup.sh', [folder], { mayFail: true })
    assert.equal(code, 2)
    assert.match(stderr, /is not empty/)
  })
  return { folder, before, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** `before` was issued before the backup. So were the tokens of the main job, which were revoked after it. */
export async function restoreChecks(report, stack, { app, tokens: revoked }, { folder, before }) {
  await report.check('restore.sh does not write over a database that is in use', async () => {
    const { code, stderr } = await stack.script('restore.sh', [folder], { mayFail: true })
    assert.equal(code, 1)
    assert.match(stderr, /valetkey_authorization is not empty/)
  })
  await report.check('restore.sh restores the backup into an empty stack, which then starts', async () => {
    await stack.empty()
    await stack.script('restore.sh', [folder])
    await stack.start()
  })
  await report.check('no token is valid after a restore, including tokens revoked after the backup', async () => {
    for (const token of [before.access_token, revoked.access_token])
      assert.equal((await app.listFiles(token)).status, 401)
    const { status, body } = await app.refresh(before.refresh_token)
    assert.deepEqual([status, body.error], [400, 'invalid_grant'])
  })
  await report.check('after a restore the user, the app and the files are the same', async () => {
    const { answer, codeVerifier } = await app.authorize(USER, 'allow')
    const { body: tokens } = await app.exchange(answer.code, codeVerifier)
    const { status, body } = await app.listFiles(tokens.access_token)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.files.length, Object.keys(FILES).length)
  })
  await report.check('a restored stack stops and starts like any other', async () => {
    await stack.compose(['stop'], { seconds: 120 })
    await stack.start()
  })
}
