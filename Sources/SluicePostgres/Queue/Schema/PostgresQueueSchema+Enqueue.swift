#if PostgreSQL
extension PostgresQueueSchema {
    /// Requests that become jobs or members.
    static let enqueueFunctions = [
        // Writes the ranks, states, charges and lines of unfinished jobs whose members have changed. The jobs have left their lines before.
        // Returns the events.
        """
        CREATE FUNCTION members_changed(p_queue int8, p_jobs int8[]) RETURNS draft[] LANGUAGE plpgsql AS $$
        DECLARE
            v_drafts draft[];
            v_job record;
            v_user text;
        BEGIN
            WITH now AS (
                SELECT job, min(~priority) AS rank, bool_and(is_paused) AS is_paused FROM member
                WHERE queue = p_queue AND job = ANY (p_jobs) GROUP BY job),
            before AS (SELECT id, state FROM job WHERE queue = p_queue AND id = ANY (p_jobs)),
            changed AS (
                UPDATE job SET rank = now.rank,
                        -- A paused job with a delay waits for the rest of it.
                        state = CASE WHEN job.state = 1 THEN 1 WHEN now.is_paused THEN 6
                            WHEN not_before IS NULL THEN 0 ELSE 5 END
                    FROM now JOIN before ON before.id = now.job WHERE job.queue = p_queue AND job.id = now.job
                    RETURNING job.id, job.state, before.state AS old)
            SELECT array_agg(ROW(id, 1000000, CASE state WHEN 6 THEN 'paused' ELSE 'resumed' END, '', '')::draft)
                INTO v_drafts FROM changed WHERE (state = 6) <> (old = 6);
            PERFORM join_lines(p_queue, p_jobs);
            -- A running job whose charged member has left is charged to the user with the fewest running jobs.
            FOR v_job IN SELECT id, charged FROM job
                WHERE queue = p_queue AND id = ANY (p_jobs) AND state = 1 AND NOT is_cancelled ORDER BY id
            LOOP
                SELECT user_name INTO v_user FROM member
                    WHERE queue = p_queue AND job = v_job.id AND NOT is_paused
                    ORDER BY user_name <> v_job.charged, (SELECT count(*) FROM job
                        WHERE queue = p_queue AND state = 1 AND charged = user_name AND user_name <> ''), place LIMIT 1;
                IF FOUND THEN
                    UPDATE job SET charged = v_user WHERE queue = p_queue AND id = v_job.id AND charged <> v_user;
                END IF;
            END LOOP;
            RETURN v_drafts;
        END $$
        """,
        // A member of the same user and batch gets the higher priority and is resumed.
        """
        CREATE FUNCTION join_members(p_queue int8, p_job int8, p_user text, p_batch text, p_priority int8)
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE member SET priority = greatest(priority, p_priority), is_paused = false
                WHERE queue = p_queue AND job = p_job AND user_name = p_user AND batch = p_batch;
            IF FOUND THEN RETURN; END IF;
            INSERT INTO member (queue, job, place, user_name, batch, priority)
                SELECT p_queue, p_job, coalesce(max(place), -1) + 1, p_user, p_batch, p_priority FROM member
                WHERE queue = p_queue AND job = p_job;
        END $$
        """,
        // Deletes ended jobs.
        """
        CREATE FUNCTION delete_jobs(p_queue int8, p_jobs int8[]) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM member WHERE queue = p_queue AND job = ANY (p_jobs);
            DELETE FROM job WHERE queue = p_queue AND id = ANY (p_jobs);
        END $$
        """,
        // Adds one request as the job p_new, or to another job. The outcomes: 0 added, 1 joined, 2 kept, 3 conflict.
        """
        CREATE FUNCTION enqueue_one(
            p_queue int8, p_now int8, p_batch text, p_keeps_finished bool, p_new int8, p_url text, p_directory text,
            p_name text, p_target bytea, p_host text, p_is_unresolved bool, p_user text, p_priority int8,
            OUT id int8, OUT outcome int8, OUT other text
        ) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            v_state int8;
            v_is_cancelled bool;
        BEGIN
            outcome := 3;
            SELECT job.id, url INTO id, other FROM job
                WHERE queue = p_queue AND sha256(target) = sha256(p_target) AND target = p_target AND url <> p_url
                    AND state IN (0, 1, 5, 6) LIMIT 1;
            IF FOUND THEN RETURN; END IF;
            SELECT job.id, state, is_cancelled INTO id, v_state, v_is_cancelled FROM job
                WHERE queue = p_queue AND sha256(target) = sha256(p_target) AND target = p_target AND url = p_url LIMIT 1;
            IF v_state IN (0, 1, 5, 6) THEN
                outcome := 1;
                PERFORM record(p_queue, p_now, id, 'joined', p_user, p_batch);
                PERFORM leave_lines(p_queue, ARRAY[id]);
                IF v_is_cancelled THEN
                    -- The cancelled members have left. Enqueuing the job again revokes the cancellation.
                    DELETE FROM member WHERE queue = p_queue AND job = enqueue_one.id;
                    UPDATE job SET is_cancelled = false WHERE queue = p_queue AND job.id = enqueue_one.id;
                END IF;
                PERFORM join_members(p_queue, id, p_user, p_batch, p_priority);
                PERFORM record_all(p_queue, p_now, members_changed(p_queue, ARRAY[id]));
                RETURN;
            END IF;
            IF v_state = 2 AND p_keeps_finished THEN
                outcome := 2;
                PERFORM join_members(p_queue, id, p_user, p_batch, p_priority);
                UPDATE job SET rank = least(rank, ~p_priority) WHERE queue = p_queue AND job.id = enqueue_one.id;
                PERFORM record(p_queue, p_now, id, 'joined', p_user, p_batch);
                RETURN;
            END IF;
            IF v_state IS NOT NULL THEN
                PERFORM record(p_queue, p_now, id, 'removed');
                PERFORM delete_jobs(p_queue, ARRAY[id]);
            END IF;
            outcome := 0;
            id := p_new;
            INSERT INTO job (queue, id, url, directory, name, target, host, is_unresolved, rank, created)
                VALUES (p_queue, p_new, p_url, p_directory, p_name, p_target, p_host, p_is_unresolved, ~p_priority, p_now);
            PERFORM join_members(p_queue, p_new, p_user, p_batch, p_priority);
            PERFORM join_lines(p_queue, ARRAY[p_new]);
            PERFORM record(p_queue, p_now, p_new, 'added', p_user, p_batch);
        END $$
        """,
        // Adds requests in their order. Neighbors with new targets are inserted together.
        """
        CREATE FUNCTION enqueue(
            p_queue int8, p_now int8, p_batch text, p_keeps_finished bool, p_urls text[], p_directories text[],
            p_names text[], p_targets bytea[], p_hosts text[], p_unresolved bool[], p_users text[], p_priorities int8[]
        ) RETURNS TABLE (id int8, outcome int8, other text) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_now int8 := moment(p_now);
            v_last int8 := (SELECT last_job FROM queue WHERE number = p_queue);
            v_count int8 := cardinality(p_urls);
            v_from int8 := 1;
            v_to int8;
            v_is_new bool[];
            v_one record;
            v_gains bool := false;
        BEGIN
            -- New means that neither a job nor another request has the target.
            v_is_new := ARRAY(
                SELECT count(*) OVER (PARTITION BY request.target) = 1 AND NOT EXISTS (
                    SELECT FROM job WHERE queue = p_queue AND sha256(job.target) = sha256(request.target)
                        AND job.target = request.target)
                FROM unnest(p_targets) WITH ORDINALITY AS request (target, place) ORDER BY place);
            WHILE v_from <= v_count LOOP
                v_to := v_from;
                WHILE v_is_new[v_from] AND v_to < v_count AND v_is_new[v_to + 1] LOOP v_to := v_to + 1; END LOOP;
                IF v_to - v_from < 16 THEN
                    FOR i IN v_from .. v_to LOOP
                        v_one := enqueue_one(p_queue, v_now, p_batch, p_keeps_finished, v_last + 1, p_urls[i],
                            p_directories[i], p_names[i], p_targets[i], p_hosts[i], p_unresolved[i], p_users[i], p_priorities[i]);
                        IF v_one.outcome = 0 THEN v_last := v_last + 1; END IF;
                        v_gains := v_gains OR v_one.outcome < 2;
                        id := v_one.id; outcome := v_one.outcome; other := v_one.other;
                        RETURN NEXT;
                    END LOOP;
                ELSE
                    v_gains := true;
                    INSERT INTO job (queue, id, url, directory, name, target, host, is_unresolved, rank, created)
                        SELECT p_queue, v_last + 1 + place - v_from, url, directory, name, target, host, is_unresolved, ~priority, v_now
                        FROM unnest(p_urls, p_directories, p_names, p_targets, p_hosts, p_unresolved, p_priorities)
                            WITH ORDINALITY AS request (url, directory, name, target, host, is_unresolved, priority, place)
                        WHERE place BETWEEN v_from AND v_to;
                    INSERT INTO member (queue, job, place, user_name, batch, priority)
                        SELECT p_queue, v_last + 1 + request.place - v_from, 0, user_name, p_batch, request.priority
                        FROM unnest(p_users, p_priorities) WITH ORDINALITY AS request (user_name, priority, place)
                        WHERE request.place BETWEEN v_from AND v_to;
                    PERFORM join_lines(p_queue, ARRAY(SELECT generate_series(v_last + 1, v_last + 1 + v_to - v_from)));
                    PERFORM record_all(p_queue, v_now, ARRAY(
                        SELECT ROW(v_last + 1 + request.place - v_from, 0, 'added', user_name, p_batch)::draft
                        FROM unnest(p_users) WITH ORDINALITY AS request (user_name, place)
                        WHERE request.place BETWEEN v_from AND v_to));
                    RETURN QUERY SELECT generate_series(v_last + 1, v_last + 1 + v_to - v_from), 0::int8, NULL;
                    v_last := v_last + 1 + v_to - v_from;
                END IF;
                v_from := v_to + 1;
            END LOOP;
            UPDATE queue SET last_job = v_last WHERE number = p_queue;
            IF v_gains THEN PERFORM wake(p_queue); END IF;
        END $$
        """,
    ]
}
#endif
