import type { Database, Finding } from '@valetkey/service-kit'
import type { FastifyInstance } from 'fastify'
import type { AppHistory } from './browser/account/app-history.js'
import type { BeforeAllow } from './browser/consent/before-allow.js'
import type { SignInWay, SignInWays } from './browser/login/sign-in-ways.js'
import type { ClientFinder } from './browser/pending-requests/client-finder.js'
import type { RequestReferences } from './browser/pending-requests/request-references.js'
import type { ValidationDeps } from './browser/pending-requests/validate-request.js'
import type { ForeignSignOut } from './browser/session/foreign-sign-out.js'
import type { SessionOptions } from './browser/session/session-plugin.js'
import type { Config } from './config.js'
import type { PageFiles, ReadPages } from './http/page-files.js'
import type { RefusalObserver } from './http/refusal-observer.js'
import type { ApiOptions } from './operator/cli/api-options.js'
import type { ClientExtension } from './operator/cli/client-extension.js'
import type { CommandDeps } from './operator/cli/command-deps.js'
import type { CommandGroups } from './operator/cli/command-groups.js'
import type { UserFinder } from './operator/cli/user-finder.js'
import type { UserInvitation } from './operator/cli/user-invitation.js'
import type { AccessEnds } from './platform/access-ends.js'
import type { AuditEvents } from './platform/audit/audit-event.js'
import type {
  AssertionAuthentication,
  ClientAdmission,
  ClientAuthenticationDeps
} from './platform/client-authentication/authenticate-client.js'
import type { ForeignRefreshTokens } from './platform/foreign-refresh-tokens.js'
import type { ExpiryTask } from './platform/housekeeping.js'
import type { ServerMetrics } from './platform/metrics/server-metrics.js'
import type { Selections } from './platform/selections.js'
import type { SenderConstraint } from './platform/sender-constraint.js'
import type { ServerMetadataMembers } from './protocol/metadata/routes.js'
import type { SessionCheck } from './storage/postgres/sessions.js'
import type { RecordAuthentication } from './storage/redis/record-authentication.js'
import type { Redis } from './storage/redis/redis.js'
import type { Platform } from './wire/platform.js'
import type { Stores } from './wire/stores.js'

/** What an optional capability adds to the service and its command line. `features.ts` lists all of them. */
export type Feature = {
  /** Creates the stores and the wiring of the feature, once for each process of the service. */
  start?: (parts: FeatureParts) => FeatureSurfaces
  /** Audit events with their kinds; the feature adds them to the type `AuditEvents` by declaration merging. */
  auditEvents?: Partial<AuditEvents>
  /** Replaces templates and the stylesheet by files of `PAGES_DIR`. */
  readPages?: ReadPages
  /** Checks of `doctor` that need no connection to the stores. @param examined.pages as the process has read them */
  examineSettings?: (config: Config, examined: { pages: PageFiles }) => readonly Finding[] | Promise<readonly Finding[]>
  /**
   * Checks of `doctor` that call other servers. They run at the same time as the checks of the stores.
   * @throws {ConfigurationError} at once, if a file of the settings cannot be read
   */
  examineConnections?: (config: Config) => Promise<readonly Finding[]>
  /** Checks of `doctor` that read records. `check` names them if they cannot be read. */
  examineRecords?: {
    check: string
    examine: (config: Config, database: Database) => Promise<readonly Finding[]>
  }
  /** Adds commands to the command line. */
  addCommands?: (groups: CommandGroups, context: CommandDeps) => void
  /** An example for each of these commands, by its full name, without `valetkey`; `--help` prints it. */
  commandExamples?: Readonly<Record<string, string>>
  /** Adds options to `resource-servers create` and `update`. At most one feature has it. */
  apiOptions?: ApiOptions
  /** Adds options to `clients create` and `clients update`, and members to documents of clients. At most one feature has it. */
  clientExtension?: ClientExtension
  /** Adds options to `users disable`. At most one feature has it. */
  userFinder?: UserFinder
  /** Invites a user whom `users create` creates without a password. At most one feature has it. */
  userInvitation?: UserInvitation
}

/** What the core gives to a feature at the start of the process. */
export type FeatureParts = {
  config: Config
  database: Database
  redis: Redis
  /** Authenticates the records that Redis returns. */
  records: RecordAuthentication
  stores: Stores
  platform: Platform
  watched: ServerMetrics
  session: SessionOptions
}

/** What the pages of a sign-in get from the core, after every feature has started. */
export type SignInParts = ValidationDeps & { ways: SignInWays }

/** What the endpoint of a client gets from the core, after every feature has started. */
type ClientEndpointParts = {
  authentication: ClientAuthenticationDeps
  validation: ValidationDeps
  senderConstraint: SenderConstraint | undefined
}

/** An endpoint that clients call as they call `/token`: a form in, JSON out, from any origin. */
type ClientEndpoint = {
  /** Below the issuer. The only method is POST. */
  path: `/${string}`
  register: (oauth: FastifyInstance, parts: ClientEndpointParts) => void
}

type Routes = (server: FastifyInstance) => void

/** What a feature adds to a process of the service. */
export type FeatureSurfaces = {
  /** Ways to sign in beside the password, in the order of the sign-in page. */
  signInWays?: readonly SignInWay[]
  /** Pages for users who are not signed in. */
  signInPages?: (pages: FastifyInstance, signIn: SignInParts) => void
  /** What other systems call or send for a sign-in: without cookies and sessions. */
  signInEndpoints?: Routes
  clientEndpoints?: readonly ClientEndpoint[]
  /** Members of the metadata of the server (RFC 8414 §2). */
  serverMetadata?: ServerMetadataMembers
  /** What resource servers call, on the internal listener. Each scope sets the group of its routes. */
  internalEndpoints?: Routes
  /** At most one feature has it. */
  foreignSignOut?: ForeignSignOut
  /** Asked for each session, once its row is stored. A later ending deletes the rows of its sessions itself. */
  hasEnded?: SessionCheck
  /** Pages of a signed-in user; their forms are counted. */
  accountPages?: Routes | undefined
  /** What apps did, for the page of connected apps. At most one feature has it. */
  appHistory?: AppHistory | undefined
  /** Routes of the administration API, below `/admin`. */
  adminRoutes?: Routes
  /** Apps and changes that wait for an operator, for the start page. */
  countWaitingApps?: (() => Promise<number>) | undefined
  refusalObserver?: RefusalObserver
  /** At most one feature has it. */
  requestReferences?: RequestReferences
  /** At most one feature has it. */
  clientFinder?: ClientFinder | undefined
  /** Awaited at each Allow on the consent page, before it takes effect. At most one feature has it. */
  beforeAllow?: BeforeAllow | undefined
  /** Authenticates clients by an assertion. At most one feature has it. */
  assertions?: AssertionAuthentication | undefined
  /** Refuses authenticated clients. At most one feature has it. */
  clientAdmission?: ClientAdmission | undefined
  /** Binds codes and tokens to keys of clients. At most one feature has it. */
  senderConstraint?: SenderConstraint | undefined
  /** Finds refresh tokens that another server issued. At most one feature has it. */
  foreignRefreshTokens?: ForeignRefreshTokens
  /** Lets users choose when access ends. At most one feature has it. */
  accessEnds?: AccessEnds | undefined
  /** Lets users choose at APIs what a scope gives access to. At most one feature has it. */
  selections?: Selections | undefined
  /** Deletes expired rows of the feature. */
  expiryTasks?: readonly ExpiryTask[]
  /** Run at the start of the process and every minute. */
  periodicTasks?: readonly (() => Promise<void>)[]
  /** What is written in the background; the stop of the process flushes and closes it. */
  closeables?: readonly { close(): Promise<void> }[]
}
