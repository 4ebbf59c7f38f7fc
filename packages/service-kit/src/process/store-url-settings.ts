import { problemOfPostgresUrl } from '../postgres/postgres-url.js'
import { problemOfRedisUrl } from '../redis/redis-url.js'
import { problemOfSmtpUrl } from './smtp-url.js'

/** The values of variables, and the report of their problems. */
type Variables = {
  report(name: string, problem: string): undefined
  raw(name: string): string | undefined
  required(name: string, meaning: string): string | undefined
}

/** Addresses with passwords, which no problem quotes. */
export function storeUrlSettings({ report, raw, required }: Variables) {
  function checkPostgres(name: string, value: string): string {
    const problem = problemOfPostgresUrl(value)
    if (problem !== undefined) report(name, problem)
    return value
  }

  return {
    /** A Postgres database, on one server or on several. */
    postgresUrl(name: string, meaning: string): string {
      const value = required(name, meaning)
      return value === undefined ? '' : checkPostgres(name, value)
    },

    /** Postgres itself, if `databaseUrl` leads to a pooler; undefined if it is missing or the same. */
    directPostgresUrl(name: string, databaseUrl: string): string | undefined {
      const value = raw(name)
      return value === undefined || value === databaseUrl ? undefined : checkPostgres(name, value)
    },

    /** A mail server; undefined if it is missing. */
    optionalSmtpUrl(name: string): string | undefined {
      const value = raw(name)
      const problem = value === undefined ? undefined : problemOfSmtpUrl(value)
      if (problem !== undefined) report(name, problem)
      return value
    },

    /** A Redis server, or its Sentinels. */
    redisUrl(name: string, meaning: string): string {
      const value = required(name, meaning)
      const problem = value === undefined ? undefined : problemOfRedisUrl(value)
      if (problem !== undefined) report(name, problem)
      return value ?? ''
    }
  }
}
