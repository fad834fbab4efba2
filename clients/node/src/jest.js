import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { Suite, setUpMillis } from './suite.js'

// ramariaDatabase leases a database for the tests of this file, or of the describe in
// which it is called.
export function ramariaDatabase(options) {
  const suite = new Suite(options)
  beforeAll(() => suite.setUp(), setUpMillis)
  beforeEach(() => suite.beforeTest())
  afterEach(() => {
    const test = runningTest()
    return suite.afterTest(test?.name, test && test.errors.length > 0)
  })
  afterAll(() => suite.tearDown())
  return suite.handle
}

// runningTest looks into the state of jest-circus, Jest's runner: a hook is not told
// whether its test failed. Another runner, or Node 18, has no such state.
function runningTest() {
  const key = Object.getOwnPropertySymbols(globalThis).find((symbol) => symbol.description === 'JEST_STATE_SYMBOL')
  return globalThis[key]?.currentlyRunningTest
}
