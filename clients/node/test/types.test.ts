// Compiled, not run: the types say what the code does.
import { connect, Database, RamariaError } from 'ramaria'
import type { Reset, Template } from 'ramaria'
import * as jest from 'ramaria/jest'
import { ramariaDatabase } from 'ramaria/node-test'
import * as vitest from 'ramaria/vitest'

export async function use(): Promise<Reset> {
  const client = await connect()
  const template: Template = await client.template({ name: 'shop', from: ['a.sql', new URL('file:///b.sql')] })
  await client.template({ name: 'shop', key: 'k', build: async ({ url, port }) => `${url}${port + 1}` })
  // @ts-expect-error a function needs a key
  await client.template({ name: 'shop', build() {} })
  const db: Database = await client.createDatabase(template, { ttl: 60 })
  // @ts-expect-error leases are made by createDatabase
  new Database()
  const pool: { query(): void } = db.use({ query() {} })
  pool.query()
  db.expires?.getTime()
  return db.reset()
}

const suite = ramariaDatabase({ template: 'shop', connect: async ({ url }) => ({ url, end() {} }) })
export const url: string = suite.connection.url + suite.socket
export const none: undefined = vitest.ramariaDatabase({ template: 'shop' }).connection
export const two: string[] = jest.ramariaDatabase({ template: 'shop', connect: () => ['a', 'b'] }).connection
export const code = (err: unknown) => (err instanceof RamariaError ? err.code : '')
