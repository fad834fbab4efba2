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

/**
 * save keeps the instance's image, and no older ones, on the disk, for the next job of a runner that is not thrown away,
 * and with server and program in the cache for others.
 */
async function save() {
  const saved = ramaria(['image', 'save', JSON.parse(ramaria(['status', name, '--json'])).image]).trim()
  for (const file of readdirSync(join(saved, '..'))) if (file !== basename(saved)) rmSync(join(saved, '..', file), { recursive: true })
  if (key) await cache.saveCache([...cached], key)
}

/** remove frees the memory: that of images too, unless another instance of the job has its data beside them. */
function remove() {
  ramaria(['rm', name, '--with-archive'])
  try {
    ramaria(['volume', 'rm', '--all'], { stdio: 'ignore' })
  } catch { /* the last instance does it */ }
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
  await tried('save for later jobs', save)
  await tried('remove the instance', remove)
}
