// In a file of its own, so that command-line calls without a kernel do not load the daemon's contract and zod.

/**
 * Name of the project's own daemon; one that joined it is named `daemon-<8 hex>`. In `.svc/` each daemon leaves its PID
 * for people and scripts (`<name>.pid`), and a description for other processes (`<name>.json`). Both files are hints.
 */
export const OWN_NAME = 'daemon'
/** File with the daemon's PID that exists while the daemon is being stopped; it must not be started again then. */
export const STOP_FILE = 'daemon.stop'
