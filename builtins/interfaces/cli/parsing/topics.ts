/** Topics of `svc help <topic>` that belong to no single command. */
export const TOPICS: Readonly<Record<string, { title: string; rows: readonly (readonly [string, string])[] }>> = {
  'exit-codes': {
    title: 'Exit codes',
    rows: [
      [
        '0',
        'Success. For start, serve and mcp: an orderly end, also after SIGTERM or Ctrl-C; for events --follow: an orderly end of the daemon',
      ],
      [
        '1',
        'Failure; standard error has the reason, with --json as JSON in its last line. For doctor and db check: a problem was found; for run and task: the task failed, reached its maximum of steps (max_steps) or waits for an approval or an answer; for replay: the replay differs from the recording',
      ],
      ['2', 'An invalid command, argument, option, configuration or profile; nothing was done'],
      ['130', 'Ended by Ctrl-C (128 plus the number of the signal); for start and serve: by a second Ctrl-C'],
      ['143', 'Ended by SIGTERM before an orderly end'],
    ],
  },
  environment: {
    title: 'Variables that every command reads',
    rows: [
      ['SVC_ROOT', 'Folder of the project, as with --root'],
      ['NO_COLOR', 'Disables colours, whatever else is set'],
      ['FORCE_COLOR', 'Enables colours even without a terminal; 0 disables them'],
      ['SVC_PLUGINS', 'false: the project’s plugin files are not loaded'],
      [
        'SVC_TRUST_PROJECT',
        'true: the project’s plugins run even if you have not trusted the project; for containers and systemd units',
      ],
      ['OPENAI_API_KEY', 'API key of a provider; svc models lists the providers and what each needs'],
      ['SVC_…', 'Values of configuration keys; svc config get <key> shows the variable of a key'],
    ],
  },
}
