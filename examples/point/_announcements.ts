// An extension point of your own: plugins contribute items of one kind to it, here announcements.
// A file whose name begins with "_" is not a plugin: it is shared by the files that import it.
import { point } from 'svc'

export interface Announcement {
  name: string
  text(): string
}

export const Announcements = point<Announcement>('announcements', {
  key: announcement => announcement.name,
  check({ name }) {
    if (name.trim() === '') throw new TypeError('An announcement needs a name.')
  },
})
