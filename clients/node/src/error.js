// RamariaError is what an instance, or the ramaria command, answers when it does not do
// what it was asked. code is for programs; hint, normally a command, may be missing.
export class RamariaError extends Error {
  constructor(message, { code = 'internal', hint, status, cause } = {}) {
    super(hint ? `${message}\nhint: ${hint}` : message, { cause })
    this.name = 'RamariaError'
    this.code = code
    this.hint = hint
    this.status = status
  }
}
