/* Leases: nothing is lost, each turn ends once, and nobody is handed what somebody else has.
 *
 * The messages of one queue without groups. A claim is one statement: it locks the first due row that nobody holds,
 * and writes it. The row's token is told apart only by who has the receipt that matches it: 0 is nobody. `clock` ends
 * any lease, at any moment; a worker may be killed wherever it stands, and comes back as a new one.
 *
 * With PROGRESS, workers are killed and extend leases only so often: then every message comes to its end.
 */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#define ATTEMPTS 2
#define NONE 255

typedef Row {
	bit there;
	bit dead;
	bit leased;	/* leased_until is set */
	bit ended;	/* and past; the due time is the same */
	bit later;	/* due at a later time */
	bit elsewhere;	/* in the queue that it is moved to, with workers of its own */
	byte attempts;
	byte token;
	byte lock;
	byte holder	/* for the property: whose turn it is, until the turn ends or its lease does */
}
Row row[MESSAGES];
byte effects[MESSAGES];	/* what transactional handlers wrote, or who popped it */
bit removed[MESSAGES];
byte requeues = 1, moves = 1, releases = 1, pushes = 1;
#ifdef PROGRESS
byte kills = 1, extensions = 1;
#define may_die (kills > 0)
#define dies kills--
#define may_extend (extensions > 0)
#define extends extensions--
#else
#define may_die true
#define dies skip
#define may_extend true
#define extends skip
#endif

#define is_due(m) (row[m].there && !row[m].dead && !row[m].later && (!row[m].leased || row[m].ended))
#define is_over(m) (!row[m].there || (row[m].dead && requeues == 0))
#define all_over (is_over(0) && is_over(MESSAGES - 1))

inline turn_ends(m) {	/* each write that ends a lease */
#ifndef BROKEN_TOKEN_KEPT
	row[m].token = 0;
#endif
	row[m].leased = 0; row[m].ended = 0; row[m].holder = 0
}

inline settles(m) {	/* for the property: whoever settles with effect has the turn, and it is open */
	assert(row[m].holder == me)
}

#ifdef BROKEN_NO_FENCE
#define is_ours (row[mine].there && !row[mine].dead)
#else
#define is_ours (row[mine].there && !row[mine].dead && row[mine].token == me)
#endif

proctype worker(byte me) {
	byte mine = NONE, m;
	bit sure;
idle:
	if
	:: atomic { all_over -> goto stop }
	:: atomic { is_due(0) && row[0].lock == 0 -> m = 0 }
	:: atomic { is_due(MESSAGES - 1) && row[MESSAGES - 1].lock == 0 -> m = MESSAGES - 1 }
	fi;
#ifndef BROKEN_CLAIM_WITHOUT_LOCK
	atomic {	/* FOR UPDATE SKIP LOCKED: who comes too late skips the row */
		if
		:: is_due(m) && row[m].lock == 0 -> row[m].lock = me
		:: else -> m = 0; goto idle
		fi
	}
#endif
	atomic {
		assert(!row[m].leased || row[m].ended);	/* nobody has it while its lease runs */
		if
		:: row[m].leased && row[m].attempts == ATTEMPTS ->	/* used up by those who died: buried instead */
			turn_ends(m); row[m].dead = 1
		:: else ->
			row[m].attempts++; row[m].token = me; row[m].holder = me; row[m].leased = 1; row[m].ended = 0; mine = m
		fi;
		row[m].lock = 0; m = 0
	}
	if
	:: mine == NONE -> goto idle
	:: mine != NONE -> skip
	fi;
handle:
	if
	:: atomic { may_die -> dies; mine = NONE; goto idle }	/* killed */
	:: atomic { may_extend && row[mine].ended && row[mine].lock == 0 -> extends;	/* extend, however late */
#ifdef BROKEN_EXTEND_BY_ID
		if
		:: row[mine].there && row[mine].leased ->
#else
		if
		:: is_ours ->
#endif
			assert(row[mine].holder == me); row[mine].ended = 0; goto handle
		:: else -> mine = NONE; goto idle
		fi }
	:: atomic { is_ours && row[mine].lock == 0 ->
		settles(mine);
		if
		:: row[mine].there = 0; effects[mine]++	/* commit, with what the handler wrote in the same transaction */
#ifdef BROKEN_RETRIES_FOR_EVER
		:: row[mine].later = 1; row[mine].attempts--
#else
		:: row[mine].attempts < ATTEMPTS -> row[mine].later = 1	/* roll back */
#endif
		:: row[mine].attempts == ATTEMPTS -> row[mine].dead = 1	/* bury */
		:: releases > 0 -> releases--; row[mine].attempts--
		:: moves > 0 -> moves--; row[mine].elsewhere = 1; row[mine].attempts = 0
		fi;
		turn_ends(mine);
		if
		:: mine = NONE; goto idle
		:: sure = true	/* the answer is lost: the row is read again */
		fi }
	:: atomic { !is_ours -> mine = NONE; goto idle }	/* refused: LeaseLost */
	fi;
	atomic {
		if
		:: row[mine].there && !row[mine].dead && row[mine].token == me -> assert(false)	/* it would be settled twice */
		:: else -> skip	/* whether it was settled is unknown, and that is what the worker is told */
		fi;
		sure = false; mine = NONE; goto idle
	}
stop:	skip
}

proctype operator() {
	byte m;
	do
	:: all_over && requeues == 0 -> break
	:: requeues > 0 -> requeues = 0	/* leaves the dead alone */
	:: atomic { requeues > 0 && row[0].dead && row[0].there ->
		requeues--; row[0].dead = 0; row[0].attempts = 0; row[0].later = 0; turn_ends(0) }
	:: atomic { pushes > 0 && row[0].there && !row[0].dead && row[0].lock == 0 ->	/* push with replace: a lease on it ends */
		pushes--; row[0].attempts = 0; row[0].later = 0; turn_ends(0) }
	:: atomic { row[0].there && !row[0].dead && row[0].lock == 0 && !(row[0].leased && !row[0].ended) && !removed[0] ->
		row[0].there = 0; removed[0] = 1; turn_ends(0) }
	od
}

active proctype clock() {
	do
	:: all_over && requeues == 0 -> break
	:: atomic { row[0].leased && !row[0].ended -> row[0].ended = 1 }
	:: atomic { row[MESSAGES - 1].leased && !row[MESSAGES - 1].ended -> row[MESSAGES - 1].ended = 1 }
	:: atomic { row[0].later -> row[0].later = 0 }
	:: atomic { row[MESSAGES - 1].later -> row[MESSAGES - 1].later = 0 }
	od
}

/* At any time a message is in the table, or it has left once: by one effect, or because an operator removed it. */
#define accounted(m) (row[m].there + effects[m] + removed[m] == 1)
#define none_lost (accounted(0) && accounted(MESSAGES - 1))

init {
	atomic {
		row[0].there = 1; row[MESSAGES - 1].there = 1;
		run worker(1); run worker(2);
#if WORKERS > 2
		run worker(3);
#endif
		run operator()
	}
	do
	:: atomic { !none_lost -> assert(false) }
	:: atomic { all_over && requeues == 0 -> break }
	od
}

#ifdef PROGRESS
ltl progress { <> [] (is_over(0) && is_over(MESSAGES - 1)) }
#endif
