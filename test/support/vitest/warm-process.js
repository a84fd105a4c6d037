// One process that runs the built command line again and again: see warm.ts. Started with the program's file.
import { pathToFileURL } from 'node:url'

const [node, , program] = process.argv
const { exit, stdout, stderr } = process
const write = { stdout: stdout.write, stderr: stderr.write }
let runs = 0

process.on('message', async ({ words, cwd, env }) => {
  const result = await run(words, cwd, env)
  process.send(result)
})
process.on('disconnect', () => exit(0))

async function run(words, cwd, env) {
  const said = { code: null, stdout: '', stderr: '' }
  const hearing = new Map([process, stdout, stderr].map(each => [each, listenersOf(each)]))
  for (const name of ['stdout', 'stderr']) {
    process[name].write = text => {
      said[name] += String(text)
      return true
    }
  }
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.argv = [node, program, ...words]
  // The program ends its process last, at the end of its file.
  process.exit = code => {
    said.code = code
  }
  try {
    // The file anew; the pieces that it loads are there already.
    await import(`${pathToFileURL(program).href}?${++runs}`)
  } catch (error) {
    said.stderr += `${error.stack}\n`
  }
  process.exit = exit
  for (const name of ['stdout', 'stderr']) process[name].write = write[name]
  for (const [emitter, before] of hearing) {
    for (const { event, listener } of listenersOf(emitter)) {
      if (!before.some(each => each.event === event && each.listener === listener)) emitter.off(event, listener)
    }
  }
  return said
}

function listenersOf(emitter) {
  return emitter.eventNames().flatMap(event => emitter.rawListeners(event).map(listener => ({ event, listener })))
}
