import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { Suite, setUpMillis } from './suite.js'

// ramariaDatabase leases a database for the tests of this file, or of the describe in
// which it is called.
export function ramariaDatabase(options) {
  const suite = new Suite(options)
  beforeAll(() => suite.setUp(), setUpMillis)
  beforeEach(() => suite.beforeTest())
  afterEach(({ task }) => suite.afterTest(task.name, task.result?.state === 'fail'))
  afterAll(() => suite.tearDown())
  return suite.handle
}
