// The plugin that reads the point: `svc.list` returns what all plugins contribute at this moment.
// It needs no notification when one of them is added, removed or edited.
import { definePlugin, z } from 'svc'
import { Announcements } from './_announcements.ts'

export default definePlugin({
  name: 'bulletin',
  description: 'Shows the announcements of plugins.',
  setup(svc) {
    svc.add(Announcements, { name: 'welcome', text: () => 'Welcome to the bulletin.' })
    svc.operation({
      name: 'bulletin.show',
      summary: 'Show the announcements',
      input: z.strictObject({}),
      output: z.array(z.string()),
      http: { method: 'GET', path: '/bulletin' },
      cli: { usage: 'bulletin' },
      run: () => svc.list(Announcements).map(announcement => announcement.text()),
    })
  },
})
