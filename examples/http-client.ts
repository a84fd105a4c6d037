// A client of a server that runs elsewhere: each operation is a method of its module, typed by the operation itself.
// `svc/client` is one small file without Node APIs, so it also runs in a browser.
// Run it beside `svc serve --with-daemon` with: npx tsx http-client.ts http://127.0.0.1:8000
import { createClient } from 'svc/client'

const [baseUrl = 'http://127.0.0.1:8000'] = process.argv.slice(2)
const client = createClient({ baseUrl, apiKey: process.env.SVC_API_KEY })

const { agent_id } = await client.agents.spawn({ preset: 'writer' })
console.log(`spawned ${agent_id}`)
await client.agents.nudge({ id: agent_id, message: 'Write about the sea.' })
for (const { name, status } of await client.agents.list()) console.log(`${name}: ${status}`)

// The events so far. Without `follow: false` it continues with new events, across reconnects and restarts of the
// server.
for await (const { event, data } of client.events.follow({ agent_id, after: 0, follow: false })) {
  if (event === 'message') console.log(`${data.seq}: ${data.type}`)
}

try {
  await client.agents.get({ id: 'nobody' })
} catch (error) {
  // `message` is for people, `code` for programs.
  const { code, message } = error as Error & { code: string }
  console.log(`${code}: ${message}`)
}
