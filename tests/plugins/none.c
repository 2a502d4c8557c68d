/* A shared object that is no plugin. */
int tests_plugins_none(void);
int tests_plugins_none(void) { return 0; }
