// After the job: shows the server's log and what became of the instance, saves server and data for later jobs, and
// removes the instance. A failure here is none of the job's.
import { randomUUID } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import * as cache from '@actions/cache'
import * as core from '@actions/core'
import { cached, home, ramaria } from './ramaria.mjs'

const name = core.getState('name')
const key = core.getState('key')

/** tried warns of what fails. */
async function tried(what, f) {
  try {
    await f()
  } catch (e) {
    core.warning(`${what}: ${e.message}`)
  }
}

/** print prints what others have written, in which the runner is to find no commands. */
function print(text) {
  const mark = randomUUID()
  core.info(`::stop-commands::${mark}\n${text}\n::${mark}::`)
}

async function report() {
  core.startGroup(`the server's log of ${name}`)
  await tried('print the log', () => print(ramaria(['logs', name])))
  core.endGroup()
  await tried('report', async () => {
    const status = ramaria(['status', name], { stdio: ['ignore', 'pipe', 'pipe'] })
    print(status)
    if (process.env.GITHUB_STEP_SUMMARY) await core.summary.addHeading(`Ramaria: ${name}`, 3).addCodeBlock(status).write()
  })
}

/** save keeps the server and the instance's image, and no older ones that came out of the cache. */
async function save() {
  const saved = ramaria(['image', 'save', JSON.parse(ramaria(['status', name, '--json'])).image]).trim()
  for (const file of readdirSync(join(saved, '..'))) if (file !== basename(saved)) rmSync(join(saved, '..', file), { recursive: true })
  await cache.saveCache([...cached], key)
}

/** made reports whether there is an instance: the first step may have failed before. */
function made() {
  try {
    return JSON.parse(ramaria(['ls', '--json'])).some((instance) => instance.name === name)
  } catch {
    return true // what comes next says why
  }
}

if (name) rmSync(join(home, `password-${name}`), { force: true })
if (name && made()) {
  await report()
  if (key) await tried('save for later jobs', save)
  await tried('remove the instance', () => ramaria(['rm', name, '--with-archive']))
}
