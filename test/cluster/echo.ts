/** What a node does for a nudge, with nothing around it: it hears a notice, changes a row, and says when that was done. */
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
