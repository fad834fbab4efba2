export default { test: { include: ['test/runners/vitest/*.js'] } }
