/* Keys: one live message has a key, and a key that is remembered is not pushed again.
 *
 * Producers push the same key, a consumer settles the message and remembers its key in the same transaction, and a
 * move brings another message with that key into the queue. A unique index holds the key: who inserts it waits for the
 * transaction that has just inserted or deleted it, and then does nothing if the key is taken.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#define NOBODY 0
#define CONSUMER 10
#define MOVER 11

byte holder;		/* committed: the live message with the key; 0: none */
byte lock;		/* the transaction that has inserted or deleted the index entry */
byte entry;		/* the holder as that transaction has it */
bit remembered;		/* committed */
byte key_lock;		/* the transaction that has written the remembered key */
byte live;		/* for the property: live messages with the key, committed */
byte created, ended;
byte answered;
bit moved;

proctype producer(byte me) {	/* push in the mode "ignore", on a queue that remembers keys */
	bit took, known;
insert:
	atomic {
		if
		:: lock == 0 ->
			if
			:: holder == NOBODY -> lock = me; entry = me; took = true
			:: else -> took = false
			fi
		fi
	}
#ifdef BROKEN_LOOKS_AT_MEMORY_FIRST
	skip;
#else
	if
	:: took -> atomic { key_lock == 0 || key_lock == me -> known = remembered; key_lock = (remembered -> key_lock : me) }
	:: else -> skip
	fi;
#endif
	atomic {	/* commit */
		if
		:: took && known -> skip	/* taken back: ignored */
		:: took && !known ->
			holder = me; live++; created++;
			assert(live == 1)
		:: !took -> skip	/* ignored: somebody has the key */
		fi;
		lock = (lock == me -> 0 : lock); entry = 0;
		key_lock = (key_lock == me -> 0 : key_lock);
		took = false; known = false; answered++
	}
}

#ifdef BROKEN_LOOKS_AT_MEMORY_FIRST
proctype hasty_producer(byte me) {
	bit known;
	atomic { known = remembered }
	atomic { known || lock == 0 ->
		if
		:: !known && holder == NOBODY -> holder = me; live++; created++; assert(live == 1)
		:: else -> skip
		fi;
		answered++ }
}
#endif

proctype consumer() {	/* settles whatever holds the key, and remembers the key in the same transaction */
	do
	:: atomic { holder != NOBODY && lock == 0 -> lock = CONSUMER; entry = NOBODY };
		atomic { key_lock == 0 -> key_lock = CONSUMER };
		atomic {
			holder = NOBODY; live--; ended++; remembered = 1;
			lock = 0; key_lock = 0
		}
	:: atomic { answered == PRODUCERS && moved && holder == NOBODY && lock == 0 -> break }
	od
}

proctype mover() {	/* moves a message with this key into the queue; taken: the turn is refused */
	bit got;
#ifdef BROKEN_MOVE_READS_HOLDER
	atomic { got = (holder == NOBODY) }
	atomic {
		if
		:: got -> holder = MOVER; live++; assert(live == 1)
		:: else -> skip
		fi;
		moved = 1
	}
#else
	atomic { lock == 0 ->	/* a row is inserted and taken away again, to hold the key until the move commits */
		got = (holder == NOBODY);
		lock = (got -> MOVER : 0) }
	atomic {
		if
		:: got -> holder = MOVER; live++; lock = 0; assert(live == 1)
		:: else -> skip
		fi;
		moved = 1
	}
#endif
}

init {
	atomic {
#ifdef BROKEN_LOOKS_AT_MEMORY_FIRST
		run hasty_producer(1); run hasty_producer(2);
#else
		run producer(1); run producer(2);
#endif
#if PRODUCERS > 2
		run producer(3);
#endif
		run mover(); run consumer()
	}
	answered == PRODUCERS && moved && holder == NOBODY && lock == 0;
	assert(live == 0);
	assert(created <= 1)	/* remembered after the first: no later push creates another one */
}
