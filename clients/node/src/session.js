// A query of mysql2 with callbacks has a method then too, which only complains.
export const isPromise = (result) => typeof result?.then === 'function' && typeof result.on !== 'function'

// call calls a method of a connection, of whichever of the two kinds: one that promises, or one that calls back.
export function call(connection, method, ...args) {
  return new Promise((resolve, reject) => {
    const result = connection[method](...args, (err, answer) => (err ? reject(err) : resolve(answer)))
    if (isPromise(result)) result.then(resolve, reject)
  })
}

// What drivers and frameworks set when they connect. All else is the server's after a reset.
const variables = ['autocommit', 'character_set_client', 'character_set_results', 'collation_connection', 'foreign_key_checks', 'sql_auto_is_null', 'sql_mode', 'time_zone', 'unique_checks', 'wait_timeout']

// State is what a session was when its connection was made known, and can be made again: variables,
// database, and nothing of temporary tables, locks, user variables and prepared statements.
export class State {
  #connection
  #looking
  #known // once looking is over
  #late = false

  constructor(connection) {
    this.#connection = connection
    // Before whatever is asked later: statements of a connection are done one after the other.
    this.#looking = this.#look().then((known) => {
      this.#known = known
    })
    this.#looking.catch(() => {}) // it is lost, and says so to who uses it
  }

  async #look() {
    const names = variables.map((name) => [name, name])
    // Its name differs by the server: the one that is not there is not shown.
    const [isolation] = await this.#rows("SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')")
    names.push(['isolation', isolation.Variable_name])
    const [row] = await this.#rows(`SELECT DATABASE() AS db, ${names.map(([as, name]) => `@@SESSION.${name} AS ${as}, @@GLOBAL.${name} AS server_${as}`).join(', ')}`)
    // Those that the server has too come back by themselves, unless drivers set them.
    const own = names.filter(([as]) => row[as] !== row[`server_${as}`] || as.startsWith('c'))
    const setting = (of) => `SET SESSION ${of.map(([as, name]) => `${name} = ${literal(row[as])}`).join(', SESSION ')}`
    return {
      enter: row.db === null ? undefined : `USE \`${row.db.replaceAll('`', '``')}\``,
      letters: setting(names.filter(([as]) => as.startsWith('c'))),
      set: setting(own),
    }
  }

  // restore makes the session as it was then. An open transaction is rolled back. All of that is asked for at once: a
  // connection that is busy does it late, and still before what the next test asks of it.
  async restore() {
    if (!this.#known) await this.#looking
    if (this.#late) return
    const { enter, letters, set } = this.#known
    const renew = typeof this.#connection.reset === 'function' ? ['reset'] : ['changeUser', {}]
    const commands = [renew, ...[enter, set].filter(Boolean).map((sql) => ['query', sql])]
    // mariadb asks for its own character set behind a reset, and so behind ours, unless it has read before that it is set.
    const told = typeof this.#connection.batch === 'function' ? [call(this.#connection, 'query', letters).catch(() => {})] : []
    await Promise.all([...told, ...commands.map((command) => call(this.#connection, ...command))])
  }

  // giveUp has a restore do nothing that was not begun, since it would be done amid the next test. It reports whether
  // there is one.
  giveUp() {
    this.#late = !this.#known
    return this.#late
  }

  #rows(sql) {
    return call(this.#connection, 'query', { sql, rowsAsArray: false, bigIntAsNumber: true, nestTables: false })
  }
}

const literal = (value) => (value === null ? 'NULL' : typeof value === 'string' ? `'${value}'` : String(value))
