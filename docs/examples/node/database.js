import { beforeEach } from 'node:test'
import mysql from 'mysql2/promise'
import { ramariaDatabase } from 'ramaria/node-test' // or ramaria/jest, ramaria/vitest
import { look } from './look.js'

// A database that this file's tests have for themselves, each as shop.sql makes it.
const db = ramariaDatabase({
  template: { name: 'shop', from: '../shop.sql' },
  connect: ({ url }) => mysql.createPool(url),
})

beforeEach(() => look(db.connection))

export { db }
