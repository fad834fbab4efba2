import { after, afterEach, before, beforeEach } from 'node:test'
import { Suite, setUpMillis } from './suite.js'

// ramariaDatabase leases a database for the tests of this file, or of the describe in
// which it is called.
export function ramariaDatabase(options) {
  const suite = new Suite(options)
  let depth = 0 // hooks are called for the tests inside of a test too, which share its database
  before(() => suite.setUp(), { timeout: setUpMillis })
  beforeEach(() => {
    depth++
    suite.beforeTest()
  })
  afterEach(async (test) => {
    depth--
    if (depth === 0) await suite.afterTest(test.name, test.passed === undefined ? undefined : !test.passed)
  })
  after(() => suite.tearDown())
  return suite.handle
}
