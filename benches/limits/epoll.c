/*
 * The least that a daemon can do: one thread, epoll, no store, no checks. It speaks just enough of the API to be measured:
 *
 *   POST /v1/hooks/claude-code     a question waits; every other event gets an empty reply at once
 *   POST /v1/asks/KEY/answer       answers it, and releases the hook that waits
 *   GET  /v1/asks                  lists what is open
 *   GET  /v1/events                a stream of server-sent events
 *
 *   epoll SOCKET
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BUCKETS 16384

struct ask;

struct connection {
	int fd;
	int is_reader; /* gets every event */
	struct ask *ask; /* waits for its answer */
	char *in; /* the part of a request that has arrived */
	size_t in_length;
	char *out; /* the part of a reply that did not fit into the socket */
	size_t out_length;
	struct connection *next, **link; /* among the readers */
};

struct ask {
	struct ask *next; /* in its bucket */
	struct ask *newer, *older;
	struct connection *waits;
	size_t key_length, json_length;
	char text[]; /* its key, then its JSON */
};

static struct ask *buckets[BUCKETS], *newest;
static struct connection *readers;
static int poller;
static long cursor;
static char chunk[1 << 16];
static char *scratch;
static size_t scratch_size;

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static char *scratch_of(size_t size)
{
	if (size > scratch_size) {
		scratch_size = size * 2;
		scratch = need(realloc(scratch, scratch_size));
	}
	return scratch;
}

static struct ask **bucket(const char *key, size_t length)
{
	unsigned hash = 2166136261u;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)key[i]) * 16777619u;
	return &buckets[hash % BUCKETS];
}

static struct ask **find(const char *key, size_t length)
{
	struct ask **link = bucket(key, length);
	while (*link && ((*link)->key_length != length || memcmp((*link)->text, key, length)))
		link = &(*link)->next;
	return link;
}

static void forget(struct ask *ask)
{
	struct ask **link = find(ask->text, ask->key_length);
	*link = ask->next;
	if (ask->newer)
		ask->newer->older = ask->older;
	else
		newest = ask->older;
	if (ask->older)
		ask->older->newer = ask->newer;
	if (ask->waits)
		ask->waits->ask = NULL;
	free(ask);
}

static void watch(struct connection *connection, unsigned events)
{
	struct epoll_event event = {.events = events, .data.ptr = connection};
	epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &event);
}

static void end(struct connection *connection)
{
	if (connection->is_reader) {
		*connection->link = connection->next;
		if (connection->next)
			connection->next->link = connection->link;
	}
	if (connection->ask)
		forget(connection->ask);
	close(connection->fd);
	free(connection->in);
	free(connection->out);
	free(connection);
}

static void send_bytes(struct connection *connection, const char *bytes, size_t length)
{
	ssize_t sent = connection->out ? 0 : send(connection->fd, bytes, length, MSG_NOSIGNAL);
	if (sent < 0)
		sent = 0;
	if ((size_t)sent < length) {
		size_t left = length - (size_t)sent;
		connection->out = need(realloc(connection->out, connection->out_length + left));
		memcpy(connection->out + connection->out_length, bytes + sent, left);
		connection->out_length += left;
		watch(connection, EPOLLIN | EPOLLOUT);
	}
}

static void flush(struct connection *connection)
{
	ssize_t sent = send(connection->fd, connection->out, connection->out_length, MSG_NOSIGNAL);
	if (sent <= 0)
		return;
	connection->out_length -= (size_t)sent;
	memmove(connection->out, connection->out + sent, connection->out_length);
	if (!connection->out_length) {
		free(connection->out);
		connection->out = NULL;
		watch(connection, EPOLLIN);
	}
}

static void reply(struct connection *connection, const char *status, const char *body, size_t length)
{
	char *bytes = scratch_of(length + 256);
	int head = sprintf(bytes, "HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n", status, length);
	memcpy(bytes + head, body, length);
	send_bytes(connection, bytes, (size_t)head + length);
}

static void publish(const char *kind, const struct ask *ask)
{
	char *bytes = scratch_of(ask->json_length + 256);
	cursor++;
	int length = sprintf(bytes, "id: %ld\nevent: %s\ndata: {\"type\":\"%s\",\"cursor\":\"%ld\",\"ask\":%.*s}\n\n", cursor, kind,
			     kind, cursor, (int)ask->json_length, ask->text + ask->key_length);
	for (struct connection *reader = readers, *next; reader; reader = next) {
		next = reader->next;
		send_bytes(reader, bytes, (size_t)length);
	}
}

/* The value of a text field in JSON that was written without spaces. */
static const char *field(const char *json, const char *name, size_t *length)
{
	const char *start = strstr(json, name);
	if (!start)
		return NULL;
	start += strlen(name);
	*length = strcspn(start, "\"");
	return start;
}

static void hook(struct connection *connection, const char *body, size_t length)
{
	size_t session_length, call_length;
	const char *session = field(body, "\"session_id\":\"", &session_length);
	const char *call = field(body, "\"tool_use_id\":\"", &call_length);
	const char *questions = strstr(body, "\"questions\":");
	if (!session || !call || !questions) {
		reply(connection, "200 OK", "", 0);
		return;
	}
	/* The questions come last, inside of the tool's input. */
	size_t questions_length = (size_t)(body + length - questions) - 1;
	size_t key_length = session_length + 2 + call_length;
	struct ask *ask = need(malloc(sizeof *ask + 2 * key_length + session_length + questions_length + 160));
	memcpy(ask->text, session, session_length);
	memcpy(ask->text + session_length, "__", 2);
	memcpy(ask->text + session_length + 2, call, call_length);
	ask->key_length = key_length;
	ask->json_length = (size_t)sprintf(ask->text + key_length, "{\"key\":\"%.*s__%.*s\",\"session\":\"%.*s\",\"state\":\"open\",%.*s",
					   (int)session_length, session, (int)call_length, call, (int)session_length, session,
					   (int)questions_length, questions);
	ask->waits = connection;
	struct ask **link = bucket(ask->text, key_length);
	ask->next = *link;
	*link = ask;
	ask->newer = NULL;
	ask->older = newest;
	if (newest)
		newest->newer = ask;
	newest = ask;
	connection->ask = ask;
	char interim[256];
	int interim_length =
	    snprintf(interim, sizeof interim, "HTTP/1.1 102 Processing\r\nx-answerback-ask: %.*s\r\n\r\n", (int)key_length, ask->text);
	send_bytes(connection, interim, (size_t)interim_length);
	publish("ask.opened", ask);
}

static void answer(struct connection *connection, const char *key, size_t key_length, const char *body, size_t length)
{
	struct ask *ask = *find(key, key_length);
	if (!ask) {
		reply(connection, "404 Not Found", "", 0);
		return;
	}
	struct connection *waits = ask->waits;
	publish("ask.settled", ask);
	char output[4096];
	int output_length = snprintf(output, sizeof output,
				     "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\","
				     "\"updatedInput\":%.*s}}",
				     (int)length, body);
	reply(connection, "200 OK", ask->text + key_length, ask->json_length);
	forget(ask);
	reply(waits, "200 OK", output, (size_t)output_length);
}

static void list(struct connection *connection)
{
	size_t length = 64;
	for (struct ask *ask = newest; ask; ask = ask->older)
		length += ask->json_length + 1;
	char *body = need(malloc(length)), *at = body;
	at += sprintf(at, "{\"asks\":[");
	for (struct ask *ask = newest; ask; ask = ask->older) {
		memcpy(at, ask->text + ask->key_length, ask->json_length);
		at += ask->json_length;
		*at++ = ask->older ? ',' : ' ';
	}
	at += sprintf(at, "],\"cursor\":\"%ld\"}", cursor);
	reply(connection, "200 OK", body, (size_t)(at - body));
	free(body);
}

static void read_events(struct connection *connection)
{
	static const char head[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\r\n";
	connection->is_reader = 1;
	connection->next = readers;
	connection->link = &readers;
	if (readers)
		readers->link = &connection->next;
	readers = connection;
	send_bytes(connection, head, sizeof head - 1);
}

/* Handles one request if it is complete, and returns its length. */
static size_t request(struct connection *connection, char *bytes, size_t length)
{
	char *body = memmem(bytes, length, "\r\n\r\n", 4);
	if (!body)
		return 0;
	body += 4;
	char after_head = *body;
	*body = 0;
	char *header = strcasestr(bytes, "\r\ncontent-length:");
	size_t body_length = header ? strtoul(header + 17, NULL, 10) : 0;
	*body = after_head;
	size_t whole = (size_t)(body - bytes) + body_length;
	if (length < whole)
		return 0;
	char after = bytes[whole];
	bytes[whole] = 0;
	static const char asks[] = "POST /v1/asks/";
	if (!strncmp(bytes, "POST /v1/hooks/", 15))
		hook(connection, body, body_length);
	else if (!strncmp(bytes, asks, sizeof asks - 1))
		answer(connection, bytes + sizeof asks - 1, strcspn(bytes + sizeof asks - 1, "/ "), body, body_length);
	else if (!strncmp(bytes, "GET /v1/asks", 12))
		list(connection);
	else if (!strncmp(bytes, "GET /v1/events", 14))
		read_events(connection);
	else
		reply(connection, "404 Not Found", "", 0);
	bytes[whole] = after;
	return whole;
}

static void receive(struct connection *connection)
{
	ssize_t count = recv(connection->fd, chunk, sizeof chunk - 1, 0);
	if (count <= 0) {
		if (count == 0 || errno != EAGAIN)
			end(connection);
		return;
	}
	char *bytes = chunk;
	size_t length = (size_t)count;
	if (connection->in) {
		connection->in = need(realloc(connection->in, connection->in_length + length + 1));
		memcpy(connection->in + connection->in_length, chunk, length);
		length = connection->in_length += length;
		bytes = connection->in;
	}
	size_t used = 0;
	for (size_t whole; used < length && (whole = request(connection, bytes + used, length - used));)
		used += whole;
	char *rest = NULL;
	if (used < length) {
		rest = need(malloc(length - used + 1));
		memcpy(rest, bytes + used, length - used);
	}
	free(connection->in);
	connection->in = rest;
	connection->in_length = length - used;
}

static void welcome(int listener)
{
	int fd;
	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *connection = need(calloc(1, sizeof *connection));
		connection->fd = fd;
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
		epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
	}
}

int main(int count, char **arguments)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (count != 2 || strlen(arguments[1]) >= sizeof address.sun_path)
		return 2;
	strcpy(address.sun_path, arguments[1]);
	signal(SIGPIPE, SIG_IGN);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) {
		perror("epoll");
		return 1;
	}
	poller = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
	epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		int ready = epoll_wait(poller, events, 256, -1);
		for (int i = 0; i < ready; i++) {
			struct connection *connection = events[i].data.ptr;
			if (!connection)
				welcome(listener);
			else if (events[i].events & EPOLLOUT)
				flush(connection);
			else
				receive(connection);
		}
	}
}
