export { connect, Client } from './client.js'
export { Database } from './database.js'
export { RamariaError } from './error.js'
