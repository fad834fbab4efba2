// A small API server that answers as an instance does, for what a real one cannot be
// brought to: a builder that is slow, an instance that hangs up.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export async function fake(t, routes) {
  const dir = mkdtempSync(join(tmpdir(), 'ramaria-node-'))
  const socket = join(dir, 'api.sock')
  const calls = []
  const sockets = new Set()
  const server = createServer(async (req, res) => {
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const call = { method: req.method, path: req.url, body: text === '' ? undefined : JSON.parse(text), type: req.headers['content-type'], connection: req.socket }
    calls.push(call)
    const route = routes[`${req.method} ${req.url}`]
    const [status, body] = route ? await route(call) : [404, { error: { code: 'not_found', message: 'no such path' } }]
    if (!status) return req.socket.destroy()
    res.writeHead(status, { 'Content-Type': 'application/json' })
    res.end(body === undefined ? undefined : JSON.stringify(body))
  })
  server.on('connection', (one) => sockets.add(one))
  await new Promise((resolve) => server.listen(socket, resolve))
  t.after(() => {
    for (const one of sockets) one.destroy()
    server.close()
    rmSync(dir, { recursive: true })
  })
  return { socket, calls }
}
