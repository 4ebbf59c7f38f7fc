// Starts the two services, the demo client and the demo provider.
import { programs } from '../checkout.mjs'
import { nodeProgram, serviceProgram } from '../processes/programs.mjs'
import {
  authorizationServerEnvironment,
  demoClientEnvironment,
  demoProviderEnvironment,
  resourceServerEnvironment
} from './environments.mjs'
import { waitUntilReady } from './readiness.mjs'
import { localUrl } from './settings.mjs'

/** @import { Handle, Processes } from '../processes/processes.mjs' */
/** @import { Program } from '../processes/programs.mjs' */
/** @import { DataFiles } from '../checkout.mjs' */
/** @import { Servers } from './environments.mjs' */
/** @import { Credential, Secrets } from './secrets.mjs' */
/** @import { Settings } from './settings.mjs' */

/**
 * @param {object} options
 * @param {NodeJS.ProcessEnv} options.caller
 * @param {Settings} options.settings
 * @param {Servers} options.servers
 * @param {Secrets} options.secrets
 * @param {Credential} options.credential for introspection
 * @param {Credential} options.client the demo client
 * @param {DataFiles} options.data
 * @param {Processes} options.processes
 * @returns a function that starts all of them, adds each to `running` and resolves when all are ready
 */
export function createServices({ caller, settings, servers, secrets, credential, client, data, processes }) {
  const { listen } = settings
  /**
   * @param {string} name
   * @param {Program} program
   * @param {NodeJS.ProcessEnv} environment
   */
  const launch = (name, program, environment) =>
    processes.start({
      name: name.replace('-', ' '),
      program,
      environment,
      logFile: data.log(name),
      restartable: true
    })

  /** @param {Handle[]} running */
  async function startDemoProvider(running) {
    if (listen.provider === undefined) return
    const program = nodeProgram(programs.demoProvider)
    const provider = launch('demo-provider', program, demoProviderEnvironment(caller, settings, secrets))
    running.push(provider)
    await waitUntilReady(provider, `${localUrl(listen.provider)}/.well-known/openid-configuration`)
  }

  /** @param {Handle[]} running */
  return async function startServices(running) {
    const authorizationServer = launch(
      'authorization-server',
      serviceProgram(
        servers.redisUrl === undefined ? programs.emulatedAuthorizationServer : programs.authorizationServer
      ),
      authorizationServerEnvironment(caller, settings, { ...servers, secrets })
    )
    const resourceServer = launch(
      'resource-server',
      serviceProgram(programs.resourceServer),
      resourceServerEnvironment(caller, settings, { ...servers, credential, secrets })
    )
    running.push(authorizationServer, resourceServer)
    await Promise.all([
      startDemoProvider(running),
      waitUntilReady(authorizationServer, `${localUrl(listen.authOperator)}/readyz`),
      waitUntilReady(resourceServer, `${localUrl(listen.filesOperator)}/readyz`)
    ])
    // The demo client needs a running authorization server.
    const environment = demoClientEnvironment(caller, settings, client)
    const demoClient = launch('demo-client', nodeProgram(programs.demoClient), environment)
    running.push(demoClient)
    await waitUntilReady(demoClient, `${localUrl(listen.demo)}/`)
  }
}
