import { StoreUnavailable } from '@valetkey/service-kit'
import type { Feature, FeatureParts } from '../../feature.js'
import { createMailer } from '../../platform/mail/mailer.js'
import { composeMail } from './compose-mail.js'
import { type MailSender, startMailSender } from './mail-sender.js'
import { noteNewAccess } from './note-access.js'
import { createSecurityMailStore } from './security-mail-store.js'

/** Mails to users about the first access of an app, and about new ways to sign in. */
export const securityMails: Feature = {
  start(parts) {
    const { config, database, platform, watched } = parts
    const { securityMails: setting, smtpUrl, mailFrom } = config.signIn
    if (setting === 'off' || smtpUrl === undefined || mailFrom === undefined) return {}
    const store = createSecurityMailStore(database)
    const mailer = createMailer({ smtpUrl, mailFrom })
    const sender = startMailSender({ store, mailer, prepare: prepareWith(parts), onFailure: reportTo(platform.logger) })
    let dropped = 0
    watchSecurityMails(watched.metrics, () => ({ ...sender.attempts(), dropped }))
    return {
      beforeAllow: noteNewAccess(store, sender.wake),
      periodicTasks: [store.staySwitchedOn],
      expiryTasks: [
        async () => {
          const old = await store.dropOld()
          dropped += old.dropped
          return old.isFull
        }
      ],
      closeables: [sender]
    }
  }
}

function prepareWith({ config, stores, platform }: FeatureParts): Parameters<typeof startMailSender>[0]['prepare'] {
  const { issuer, productName: product, signIn } = config
  const { languages } = platform
  const { scopes, resourceServers } = stores.registry
  return async () => {
    const [catalogue, apis] = await Promise.all([scopes.list(), resourceServers.listApis()])
    const texts = { issuer, product, helpUrl: signIn.helpUrl, languages, catalogue, apis }
    return (mail) => composeMail(mail, texts)
  }
}

/** An outage of Postgres has its own lines. */
function reportTo(logger: FeatureParts['platform']['logger']): Parameters<typeof startMailSender>[0]['onFailure'] {
  return ({ userId, reason, error }) => {
    if (error instanceof StoreUnavailable) return
    logger?.warn({ event: 'security_mail_failed', userId, reason, err: error }, 'a mail will be sent again')
  }
}

type Results = ReturnType<MailSender['attempts']> & { dropped: number }

function watchSecurityMails(metrics: FeatureParts['watched']['metrics'], results: () => Results): void {
  metrics.countElsewhere(
    { name: 'valetkey_security_mails_total', help: 'Attempts to send mails about changes of accounts, by result.' },
    () => Object.entries(results()).map(([result, value]) => ({ labels: { result }, value }))
  )
}
