/** Minimal work of a node for a nudge: receives a notification, changes a row, and reports when that was done. */
import pg from 'pg'

const [, , url] = process.argv
const client = new pg.Client(url)
await client.connect()
client.on('notification', async () => {
  await client.query('UPDATE echo SET n = n + 1 WHERE id = (SELECT id FROM echo FOR UPDATE SKIP LOCKED) RETURNING n')
  process.send!(performance.timeOrigin + performance.now())
})
await client.query('LISTEN echo')
process.send!(0)
process.on('disconnect', () => process.exit())
