import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import { MOST_LOGO_BYTES } from '../../platform/clients/encode-logo.js'
import type { ClientLogoStore } from '../../storage/postgres/client-logos.js'
import { storeLogo } from '../use-cases/client-branding.js'
import type { ClientSettings } from '../use-cases/client-settings.js'
import { readLifetime } from './duration.js'
import { CommandFailure } from './exit.js'

export type ClientOptions = {
  name?: string
  redirectUri?: readonly string[]
  scope?: readonly string[]
  optionalScope?: readonly string[]
  resource?: readonly string[]
  refresh?: boolean
  requirePkce?: boolean
  consent?: string
  verified?: boolean
  homePage?: string
  publisher?: string
  privacyPolicy?: string
  terms?: string
  logo?: string
  accessTokenTtl?: string
  refreshTokenIdleTtl?: string
  refreshTokenMaxTtl?: string
}

export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}

/** Options of both `create` and `update`. */
export function addLifetimeOptions(command: Command): Command {
  return command
    .option('--access-token-ttl <duration>', 'such as 600 or 10m, at most the server’s value; or "default"')
    .option('--refresh-token-idle-ttl <duration>', 'maximum time between two uses of a refresh token')
    .option('--refresh-token-max-ttl <duration>', 'maximum time from consent to the last refresh')
}

/** Options of both `create` and `update`; with `update`, an empty text removes the member. */
export function addBrandingOptions(command: Command): Command {
  return command
    .option('--home-page <url>', 'the app’s home page; https')
    .option('--publisher <text>', 'who runs the app: the name that --verified is about')
    .option('--privacy-policy <url>', 'its privacy policy; https')
    .option('--terms <url>', 'its terms; https')
    .option('--logo <file>', 'its logo: a PNG, JPEG or WebP file of up to 1 MiB')
}

/** Encodes and stores the file of `--logo`. @returns undefined without the option, null for an empty one */
export async function readLogo(
  { logo: file }: Pick<ClientOptions, 'logo'>,
  logos: Pick<ClientLogoStore, 'save'>
): Promise<string | null | undefined> {
  if (file === undefined) return undefined
  return file === '' ? null : storeLogo(await readStart(file), logos)
}

/** One byte more than a logo may have shows that the file is too large. */
async function readStart(file: string): Promise<Buffer> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of createReadStream(file, { end: MOST_LOGO_BYTES })) chunks.push(chunk)
    return Buffer.concat(chunks)
  } catch {
    throw new CommandFailure('usage', `the logo ${file} cannot be read; pass the path of a file`)
  }
}

export function settingsOf(options: ClientOptions): ClientSettings {
  return {
    name: options.name,
    redirectUris: options.redirectUri,
    requiredScopes: options.scope,
    optionalScopes: options.optionalScope,
    resources: options.resource,
    refresh: options.refresh,
    requirePkce: options.requirePkce,
    consent: options.consent,
    verified: options.verified,
    homePage: options.homePage,
    publisher: options.publisher,
    privacyPolicy: options.privacyPolicy,
    terms: options.terms,
    accessTokenTtl: readLifetime(options.accessTokenTtl, '--access-token-ttl'),
    refreshTokenIdleTtl: readLifetime(options.refreshTokenIdleTtl, '--refresh-token-idle-ttl'),
    refreshTokenMaxTtl: readLifetime(options.refreshTokenMaxTtl, '--refresh-token-max-ttl')
  }
}
