// What both steps of the action share: where things are, and how the program is called.
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'

/**
 * Each runner has a work directory of its own, which holds RUNNER_TEMP: what is there is shared with no other job, and
 * is at the same path in each job of a kind, which the cache asks for.
 */
const work = dirname(process.env.RUNNER_TEMP ?? '/tmp/runner')
export const home = process.env.RAMARIA_HOME || join(work, '_ramaria')
export const prefix = join(home, 'program')
/** cached are the directories that the cache keeps: fetched servers, saved images, the program. */
export const cached = [join(home, 'cache'), prefix]

/** ramaria runs the program with its messages in the job's log, and returns what it prints. */
export function ramaria(args, options = {}) {
  return execFileSync('ramaria', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 28,
    env: { ...process.env, RAMARIA_HOME: home },
    ...options,
  })
}
