// Tells what the process has used, in microseconds of processor time, on its fourth descriptor.
process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  require('node:fs').writeSync(3, String(user + system))
})
