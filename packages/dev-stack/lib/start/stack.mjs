// The steps of npm start.
import { demoFiles, displayPath } from '../checkout.mjs'
import { findPortProblems } from '../processes/ports.mjs'
import { writeRunFile } from '../processes/run-file.mjs'
import { bringPostgres, bringRedis } from '../stores/servers.mjs'
import { commandLine } from './command-lines.mjs'
import { ensureClient, ensureResourceServer, ensureUser, rememberedOf } from './demo-data.mjs'
import {
  authorizationServerEnvironment,
  commandLineEnvironment,
  doctorEnvironment,
  givenCredential
} from './environments.mjs'
import { openSecrets, resourceServerCredential } from './secrets.mjs'
import { createServices } from './services.mjs'

/** @import { Handle, Processes } from '../processes/processes.mjs' */
/** @import { Progress } from '../processes/progress.mjs' */
/** @import { DataFiles } from '../checkout.mjs' */
/** @import { Settings } from './settings.mjs' */

/**
 * @param {{ caller: NodeJS.ProcessEnv, settings: Settings, files: string | undefined, data: DataFiles,
 *   processes: Processes, progress: Progress, onStarted: (handle: Handle) => void }} options
 * `onStarted` is called for each process that runs until the stop.
 */
export async function startStack({ caller, settings, files, data, processes, progress, onStarted }) {
  const problems = await findPortProblems(settings.listeners)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const { secrets, save } = openSecrets(data.secrets)
  const given = givenCredential(caller)
  const credential = given ?? resourceServerCredential(secrets, settings.resourceUrl)
  save()

  const tools = { caller, secrets, data, processes }
  const postgres = await progress.step('Postgres', () => bringPostgres(tools))
  const redis = await progress.step('Redis', () => bringRedis(tools))
  for (const { process } of [postgres, redis]) if (process !== undefined) onStarted(process)
  const servers = { ...postgres, ...redis }

  const environment = {
    ...authorizationServerEnvironment(caller, settings, { ...servers, secrets }),
    ...commandLineEnvironment(caller, settings, servers)
  }
  const valetkey = commandLine({ service: 'authorization-server', environment, processes })
  const valetkeyFiles = commandLine({ service: 'resource-server', environment, processes })
  await progress.step('Database tables', async () => {
    await Promise.all([valetkey(['migrate']), valetkeyFiles(['migrate'])])
  })
  writeRunFile(data.run, {
    ...commandLineEnvironment(caller, settings, servers),
    ...doctorEnvironment(caller, settings, { ...servers, credential, secrets })
  })

  const remembered = rememberedOf(secrets, caller)
  const { user, client } = await progress.step('Demo user and demo client', async () => {
    const [user, client] = await Promise.all([
      ensureUser(valetkey, remembered, secrets.userPassword),
      ensureClient(valetkey, remembered, settings.demoUrl),
      given ?? ensureResourceServer(valetkey, credential, settings.resourceUrl, caller.DPOP)
    ])
    return { user, client }
  })
  save()

  const directory = files ?? demoFiles
  await progress.step(`Files of ${displayPath(directory)}`, () =>
    valetkeyFiles(['import', '--owner', user.id, directory])
  )

  const startServices = createServices({ ...tools, settings, servers, credential, client })
  /** @type {Handle[]} */
  const services = []
  await progress.step('Authorization server, resource server, demo client', () => startServices(services))
  for (const service of services) onStarted(service)
  return { user, services, startServices }
}
