#!/usr/bin/env node
// Runs the ramaria program of the package for this machine.
import { spawn } from 'node:child_process'
import { packaged } from '../src/command.js'

const program = packaged()
if (!program) {
  console.error(`ramaria: the package ramaria-${process.platform}-${process.arch}, with the program, is not installed
hint: npm install --include=optional; there are packages for Linux on x64 and arm64`)
  process.exit(1)
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
process.on('SIGINT', () => {}) // the terminal sends it to both
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(`ramaria: run ${program}: ${error.message}`)
  process.exit(1)
})
child.on('exit', (status, signal) => {
  if (signal) process.removeAllListeners(signal).kill(process.pid, signal)
  else process.exit(status)
})
