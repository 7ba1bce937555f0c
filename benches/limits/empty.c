/* The least that any program costs: it starts and ends. */
int main(void) { return 0; }
