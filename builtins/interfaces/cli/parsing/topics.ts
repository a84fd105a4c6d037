/** Topics of `svc help <topic>` that belong to no single command. */
export const TOPICS: Readonly<Record<string, { title: string; rows: readonly (readonly [string, string])[] }>> = {
  'exit-codes': {
    title: 'Exit codes',
    rows: [
      [
        '0',
        'Done. Of start, serve and mcp: ended in order, also by SIGTERM or Ctrl-C; of events --follow: the daemon did',
      ],
      [
        '1',
        'It failed, and standard error says why, with --json in its last line as JSON; of doctor and db check: something is wrong; of run and task: the task failed; of replay: it differs',
      ],
      ['2', 'A mistake in the words, an option, the configuration or a profile; nothing was done'],
      ['130', 'Ended by Ctrl-C (128 and the number of the signal); after a second Ctrl-C start and serve end so too'],
      ['143', 'Ended by SIGTERM before it could end in order'],
    ],
  },
  environment: {
    title: 'Variables that every command heeds',
    rows: [
      ['SVC_ROOT', 'The project, as with --root'],
      ['NO_COLOR', 'No colours, whatever else is set'],
      ['FORCE_COLOR', 'Colours also where no terminal is; 0 for none'],
      ['SVC_PLUGINS', 'false leaves the project’s plugin files unloaded'],
      ['SVC_TRUST_PROJECT', 'true runs the project’s plugins, whether you trust it or not: for containers and units'],
      ['OPENAI_API_KEY', 'A provider’s key; svc models says which providers there are and what each needs'],
      ['SVC_…', 'Keys of the configuration that a variable overrides; svc config get <key> names it'],
    ],
  },
}
